//! Which files of a recording are the user's code, judged by their recorded paths.

use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use recorded::{KNOWN_PACKAGES, PLUMBING_PACKAGES, STANDARD_LIBRARY, is_generated};

/// A pattern of recorded paths whose files count as the user's code although they are in a library folder.
///
/// A name without `/`, `*`, `?` and an ending stands for the package or module of that name. A pattern that does not begin
/// with `/` matches from each folder of a path on; `*` matches within a folder, `**` any folders.
#[derive(Debug, Clone)]
pub struct MinePattern {
    text: String,
    matchers: Vec<GlobMatcher>,
}

/// A pattern that cannot be read. The message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid pattern `{pattern}`: {reason}; expected the name of a package (`vllm`) or a pattern of paths (`vllm/model_executor/**`)"
)]
pub struct InvalidPattern {
    pattern: String,
    reason: String,
}

impl MinePattern {
    /// The pattern as it was given.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file of a recorded path is the user's by this pattern.
    pub(crate) fn is_match(&self, recorded: &str) -> bool {
        let path = recorded.replace('\\', "/");
        self.matchers.iter().any(|it| it.is_match(&path))
    }
}

impl PartialEq for MinePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl FromStr for MinePattern {
    type Err = InvalidPattern;

    fn from_str(text: &str) -> Result<Self, InvalidPattern> {
        let invalid = |reason: String| InvalidPattern { pattern: text.to_owned(), reason };
        let name = text.trim().trim_end_matches('/');
        if name.is_empty() {
            return Err(invalid("it is empty".to_owned()));
        }
        let patterns = match name {
            _ if text.trim().ends_with('/') => vec![format!("{name}/**")],
            _ if name.contains(['/', '*', '?', '[', '{', '.']) => vec![name.to_owned()],
            _ => vec![format!("{name}/**"), format!("{name}.py")],
        };
        let matchers = patterns.into_iter().map(|pattern| {
            let anywhere = match pattern.starts_with('/') {
                true => pattern,
                false => format!("**/{pattern}"),
            };
            let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
            glob.map(|it| it.compile_matcher()).map_err(|error| invalid(error.kind().to_string()))
        });
        Ok(Self { text: text.to_owned(), matchers: matchers.collect::<Result<_, _>>()? })
    }
}

/// Whether a path lies where Python keeps libraries.
pub(crate) fn is_in_library_folder(path: &str) -> bool {
    after_library_folder(path).is_some()
}

/// The part of a path below `site-packages`, `dist-packages` or `lib/python3.x`.
pub(crate) fn after_library_folder(path: &str) -> Option<&str> {
    for folder in ["site-packages/", "dist-packages/", "site-packages\\"] {
        if let Some(start) = path.rfind(folder) {
            return Some(&path[start + folder.len()..]);
        }
    }
    let (start, folder) = path.match_indices("/lib/python3").last()?;
    path[start + folder.len()..].split_once('/').map(|(_, rest)| rest)
}

/// Whether a path that was not found is a library's, by its name.
#[must_use]
pub fn looks_like_library(path: &str) -> bool {
    is_generated(path)
        || is_in_library_folder(path)
        || [&STANDARD_LIBRARY, &KNOWN_PACKAGES].iter().any(|names| names.contains(top_level(path)))
}

/// Whether a path is one of generated code, of the standard library, or of a package that runs other people's code.
pub(crate) fn is_plumbing(path: &str) -> bool {
    let inside = after_library_folder(path);
    // What is below `lib/python3.x` and no package's is the standard library's.
    let is_package = inside.is_none() || path.contains("-packages");
    let top = top_level(inside.unwrap_or(path));
    is_generated(path)
        || !is_package
        || [&STANDARD_LIBRARY, &PLUMBING_PACKAGES].iter().any(|names| names.contains(top))
}

/// The top-level module of a path relative to a library folder.
fn top_level(path: &str) -> &str {
    let first = path.split(['/', '\\']).next().unwrap_or(path);
    first.strip_suffix(".py").unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_recognised_by_their_paths() {
        let library = [
            "torch/nn/modules/linear.py",
            "threading.py",
            "contextlib.py",
            "<frozen importlib._bootstrap>",
            "/home/a/env/lib/python3.7/site-packages/x/y.py",
            "/usr/lib/python3.11/asyncio/base_events.py",
            "C:\\py\\Lib\\site-packages\\x.py",
            "/tmp/torchinductor_me/ab/cabc.py",
            "/cache/4z/c4z76kcfplyj6oqxvqvx3n4ydi6cfdyxkd3zmm3kxv4jn3vt5qnq.py",
            "/home/a/.triton/cache/x/kernel.py",
            "fx_generated__1a2b.py",
            "/tmp/torch_geometric.nn.conv.gat_conv_GATConv_edge_updater_e1bi396w.py",
            "tqdm/_monitor.py",
        ];
        let own = [
            "train.py",
            "/home/a/project/train.py",
            "models/net.py",
            "resnet50_profiler_api.py",
            "/home/a/torchinductor_notes.py",
            "/cache/zz/c4z76kcfplyj6oqxvqvx3n4ydi6cfdyxkd3zmm3kxv4jn3vt5qnq.py",
        ];
        for path in library {
            assert!(looks_like_library(path), "{path}");
        }
        for path in own {
            assert!(!looks_like_library(path), "{path}");
        }
    }

    #[test]
    fn the_part_below_a_library_folder_is_found() {
        let cases = [
            ("/a/lib/python3.7/site-packages/torch/x.py", Some("torch/x.py")),
            ("/usr/lib/python3.11/os.py", Some("os.py")),
            ("/home/a/train.py", None),
        ];
        for (path, expected) in cases {
            assert_eq!(after_library_folder(path), expected);
        }
    }

    #[test]
    fn packages_that_run_other_code_are_plumbing() {
        let plumbing = [
            "torch/utils/_contextlib.py",
            "/a/lib/python3.12/site-packages/torch/nn/modules/module.py",
            "/usr/lib/python3.12/functools.py",
            "functools.py",
            "<string>",
        ];
        let code = [
            "vllm/v1/engine/core.py",
            "/a/lib/python3.12/site-packages/vllm/v1/engine/core.py",
            "/a/lib/python3.12/dist-packages/transformers/models/bert/modeling_bert.py",
        ];
        assert!(plumbing.iter().all(|it| is_plumbing(it)));
        assert!(!code.iter().any(|it| is_plumbing(it)));
    }

    #[test]
    fn patterns_match_packages_and_paths() {
        let site = "/opt/env/lib/python3.12/site-packages";
        let rows = [
            ("vllm", format!("{site}/vllm/v1/core.py"), true),
            ("vllm", "vllm/v1/core.py".to_owned(), true),
            ("vllm", r"C:\env\Lib\site-packages\vllm\core.py".to_owned(), true),
            ("vllm", "vllm.py".to_owned(), true),
            ("vllm", format!("{site}/vllm_ascend/core.py"), false),
            ("vllm/**", format!("{site}/vllm/v1/core.py"), true),
            ("vllm/", format!("{site}/vllm/v1/core.py"), true),
            ("vllm/*.py", format!("{site}/vllm/v1/core.py"), false),
            ("vllm/*/core.py", format!("{site}/vllm/v1/core.py"), true),
            ("/opt/**", format!("{site}/vllm/v1/core.py"), true),
            ("/env/**", format!("{site}/vllm/v1/core.py"), false),
            ("models/net_*.py", "/w/models/net_a.py".to_owned(), true),
        ];
        for (pattern, path, expected) in rows {
            let parsed: MinePattern = pattern.parse().unwrap();
            assert_eq!(parsed.is_match(&path), expected, "{pattern} {path}");
        }
        assert_eq!(
            "a/[b".parse::<MinePattern>().unwrap_err().to_string(),
            "invalid pattern `a/[b`: unclosed character class; missing ']'; expected the name of a package (`vllm`) or a pattern \
             of paths (`vllm/model_executor/**`)"
        );
        assert!(" ".parse::<MinePattern>().is_err());
    }
}
