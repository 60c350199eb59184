//! Vectors by the numbers of lines and stacks, which may be shorter than the tables: what is missing is 0.

/// The entry at `index`, the vector filled up with zeros so far.
pub(crate) fn grow_to<T: Default + Clone>(values: &mut Vec<T>, index: usize) -> &mut T {
    if index >= values.len() {
        values.resize(index + 1, T::default());
    }
    &mut values[index]
}
