//! Which names are URLs, and what they name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// What the user named.
static NAMED: RwLock<NamedUrls> =
    RwLock::new(NamedUrls { places: BTreeSet::new(), queries: BTreeMap::new() });

struct NamedUrls {
    /// Buckets and hosts, with their scheme.
    places: BTreeSet<String>,
    /// What stands behind `?`, by what stands before it.
    queries: BTreeMap<String, String>,
}

/// Where a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scheme {
    S3,
    GoogleCloud,
    Azure,
    Http,
}

/// A URL in a place that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileUrl {
    pub(crate) scheme: Scheme,
    /// The bucket, container or host, with its scheme: `s3://bucket`.
    pub(crate) place: String,
    /// What stands behind the bucket and its `/`.
    pub(crate) key: String,
}

impl FileUrl {
    /// `None` of what is no URL, or is in a place that nobody named.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let url = Self::parse(path)?;
        let named = NAMED.read().unwrap_or_else(PoisonError::into_inner);
        named.places.contains(&url.place).then_some(url)
    }

    fn parse(path: &Path) -> Option<Self> {
        let text = path.to_str()?;
        let (scheme, rest) = text.split_once("://")?;
        let kind = match scheme {
            "s3" => Scheme::S3,
            "gs" => Scheme::GoogleCloud,
            "az" => Scheme::Azure,
            "http" | "https" => Scheme::Http,
            _ => return None,
        };
        // Where `\` separates the parts of paths, names were put together with it.
        let rest = if cfg!(windows) { rest.replace('\\', "/") } else { rest.to_owned() };
        let (place, key) = rest.split_once('/').unwrap_or((&rest, ""));
        let is_place = !place.is_empty() && !place.contains(['?', '#']);
        is_place.then(|| Self {
            scheme: kind,
            place: format!("{scheme}://{place}"),
            key: key.to_owned(),
        })
    }

    /// The bucket, container or host.
    pub(crate) fn bucket(&self) -> &str {
        self.place.split_once("://").map_or("", |(_, it)| it)
    }

    /// Whether it can name nothing but a folder.
    pub(crate) fn names_folder(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }

    /// The name of a key in the same place.
    pub(crate) fn name_of(&self, key: &str) -> PathBuf {
        PathBuf::from(format!("{}/{key}", self.place))
    }

    /// The whole URL of a file over HTTP, with what signs it. What lies beside a file that was named is asked for with the
    /// signature of that one, which some are good for.
    pub(crate) fn signed(&self) -> String {
        let url = format!("{}/{}", self.place, self.key);
        let named = NAMED.read().unwrap_or_else(PoisonError::into_inner);
        let folder = |it: &str| it.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let beside = || {
            let mut others = named.queries.iter();
            others.find(|(other, _)| folder(other) == folder(&url)).map(|(_, query)| query)
        };
        match named.queries.get(&url).or_else(beside) {
            Some(query) => format!("{url}?{query}"),
            None => url,
        }
    }
}

/// Notes what the user named, and gives the name of it without what is secret.
pub(crate) fn named(path: PathBuf) -> PathBuf {
    let Some(mut url) = FileUrl::parse(&path) else { return path };
    let mut named = NAMED.write().unwrap_or_else(PoisonError::into_inner);
    if url.scheme == Scheme::Http {
        // Of `user:password@host` the host is left: who may read is said in another way (`faults`).
        if let Some((scheme, (_, host))) = url
            .place
            .split_once("://")
            .and_then(|(scheme, it)| Some((scheme, it.rsplit_once('@')?)))
        {
            url.place = format!("{scheme}://{host}");
        }
        let whole = std::mem::take(&mut url.key);
        let (key, query) = whole.split_once('?').unwrap_or((&whole, ""));
        key.split('#').next().unwrap_or(key).clone_into(&mut url.key);
        if !query.is_empty() {
            let query = query.split('#').next().unwrap_or(query).to_owned();
            named.queries.insert(format!("{}/{}", url.place, url.key), query);
        }
    }
    named.places.insert(url.place.clone());
    match url.key.is_empty() {
        // As it was written: `s3://bucket` or `s3://bucket/`.
        true => PathBuf::from(url.place + "/"),
        false => url.name_of(&url.key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> String {
        named(PathBuf::from(text)).display().to_string()
    }

    #[test]
    fn only_places_that_were_named_are_urls() {
        let is_url = |text: &str| FileUrl::of(Path::new(text)).is_some();
        assert!(!is_url("s3://traces/run/rank0.json.gz"));
        assert_eq!(name("s3://traces/run/"), "s3://traces/run/");
        assert!(is_url("s3://traces/run/rank0.json.gz") && is_url("s3://traces"));
        assert!(!is_url("s3://other/run/rank0.json.gz") && !is_url("gs://traces/run"));
        for local in ["run/rank0.json", "/tmp/s3://traces/x", "./s3://traces/x", "C:\\x", "-"] {
            assert_eq!(name(local), local);
            assert!(!is_url(local), "{local}");
        }
        let url = FileUrl::of(Path::new("s3://traces/run/rank0.json.gz")).unwrap();
        assert_eq!((url.bucket(), &*url.key), ("traces", "run/rank0.json.gz"));
        let beside =
            Path::new("s3://traces/run/rank0.json.gz").with_file_name("rank0.callers.json");
        assert_eq!(FileUrl::of(&beside).unwrap().key, "run/rank0.callers.json");
    }

    #[test]
    fn what_signs_a_url_is_kept_aside_and_used_for_what_lies_beside_it() {
        let shown =
            name("https://user:word@signed.example:8443/run/a.json?X-Amz-Signature=secret#x");
        assert_eq!(shown, "https://signed.example:8443/run/a.json");
        let signed = |text: &str| FileUrl::of(Path::new(text)).unwrap().signed();
        assert_eq!(signed(&shown), format!("{shown}?X-Amz-Signature=secret"));
        let place = "https://signed.example:8443";
        assert_eq!(
            signed(&format!("{place}/run/b.json")),
            format!("{place}/run/b.json?X-Amz-Signature=secret")
        );
        assert_eq!(signed(&format!("{place}/other/b.json")), format!("{place}/other/b.json"));
    }
}
