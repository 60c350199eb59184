//! Vectors by the numbers of lines and stacks, which may be shorter than the tables: what is missing is 0.

use crate::tree::Node;

/// The entry at `index`, the vector filled up with zeros so far.
pub fn grow_to<T: Default + Clone>(values: &mut Vec<T>, index: usize) -> &mut T {
    if index >= values.len() {
        values.resize(index + 1, T::default());
    }
    &mut values[index]
}

/// The amount of a stack; 0 where `values` is shorter.
#[must_use]
pub fn amount<T: Copy + Default>(values: &[T], node: Node) -> T {
    values.get(node.index()).copied().unwrap_or_default()
}
