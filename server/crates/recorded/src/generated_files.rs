//! Which files a compiler wrote, judged by their recorded paths.

/// Whether a file was written by a compiler: `<string>`, what Inductor and Triton keep in their caches, and what
/// `torch.fx` names `fx_generated__*.py`. PyTorch Geometric writes the passing of messages of each class into a temporary
/// file, `torch_geometric.nn.conv.….py`.
#[must_use]
pub fn is_generated(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let mut names = path.rsplit('/');
    let stem = names.next().map_or("", |file| file.strip_suffix(".py").unwrap_or(file));
    path.starts_with('<')
        || is_inductor_file(&path)
        || stem.starts_with("fx_generated__")
        || stem.starts_with("torch_geometric.")
        || names.skip(1).any(|folder| folder.starts_with("torchinductor_"))
        || path.contains("/triton/cache/")
        || path.contains("/.triton/cache/")
}

/// Whether a file was written by a compiler as a file with a path.
#[must_use]
pub fn is_generated_file(path: &str) -> bool {
    !path.starts_with('<') && is_generated(path)
}

/// Whether Inductor keeps a file of this path in its cache: `XY/cWXY….py` with 51 characters of base 32 after the `c`, where
/// the folder is the second and third character of the name. Caches can be anywhere.
#[must_use]
pub fn is_inductor_file(path: &str) -> bool {
    let mut names = path.rsplit(['/', '\\']);
    let (file, folder) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let stem = file.strip_suffix(".py").unwrap_or(file);
    let is_base_32 = |it: &str| it.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7'));
    stem.len() == 52 && stem.starts_with('c') && is_base_32(stem) && stem.get(1..3) == Some(folder)
}
