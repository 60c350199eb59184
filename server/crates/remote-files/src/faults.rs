//! What a request that failed means for whoever named the URL. No URL of a request is in a message: it may hold a signature.

use std::error::Error as StdError;
use std::io;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

use crate::store::Store;
use crate::url::Scheme;

/// Most characters of a message that comes from elsewhere.
const MAX_TEXT: usize = 200;

/// The error in words, with what to do.
pub(crate) fn fault(error: &Error, store: &Store) -> io::Error {
    let text = all_of(error);
    let code = code(&text);
    let said = code.map(|it| format!(" ({it})")).unwrap_or_default();
    let kind = connection(error);
    // What lists are answered with has no name of its own.
    let is_denied = matches!(error, Error::PermissionDenied { .. } | Error::Unauthenticated { .. })
        || status(&text).is_some_and(|it| it.starts_with("401") || it.starts_with("403"));
    match (error, code, kind) {
        (_, Some("NoSuchBucket" | "ContainerNotFound"), _) => io::Error::other(
            "there is no such bucket; check its name, the account and the endpoint",
        ),
        (Error::NotFound { .. }, ..) => io::ErrorKind::NotFound.into(),
        (_, Some("ExpiredToken" | "TokenRefreshRequired"), _) => {
            io::Error::other(format!("the credentials are no longer valid{said}; sign in again"))
        }
        _ if is_denied => io::Error::other(match (store.is_anonymous, store.scheme) {
            (true, Scheme::Http) => {
                format!(
                    "access is denied{said}; name a URL that needs no password, such as a signed one"
                )
            }
            (true, scheme) => format!(
                "access is denied{said}, and there are no credentials: {}",
                credentials_of(scheme)
            ),
            (false, _) => format!(
                "access is denied{said}; check which credentials are used, and that they may read and list it"
            ),
        }),
        (Error::Precondition { .. }, ..) => {
            io::Error::other("it was replaced while it was read; run the command again")
        }
        (
            _,
            Some(
                "AuthorizationHeaderMalformed"
                | "PermanentRedirect"
                | "IllegalLocationConstraintException",
            ),
            _,
        ) => io::Error::other(format!("the bucket is in another region{said}; set AWS_REGION")),
        _ if text.contains("Received redirect without LOCATION") => {
            io::Error::other("the bucket is in another region; set AWS_REGION")
        }
        (_, _, Some(HttpErrorKind::Connect)) => io::Error::other(format!(
            "the server cannot be reached ({}); check the name, the network{}",
            innermost(error),
            match store.scheme {
                Scheme::S3 => " and AWS_ENDPOINT_URL",
                _ => " and proxies",
            }
        )),
        (_, _, Some(HttpErrorKind::Timeout)) => {
            io::Error::other("the server does not answer in time; try again")
        }
        _ => match status(&text) {
            Some(status) => {
                io::Error::other(format!("the server answers {status}{said}; try again"))
            }
            None => io::Error::other(innermost(error)),
        },
    }
}

fn credentials_of(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::S3 | Scheme::Http => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile in ~/.aws"
        }
        Scheme::GoogleCloud => {
            "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
        }
        Scheme::Azure => {
            "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or AZURE_USE_AZURE_CLI=true after `az login`"
        }
    }
}

/// The last cause of an error: the words of the system, or of the library where it has no cause.
pub(crate) fn innermost(error: &(dyn StdError + 'static)) -> String {
    let last = causes(error).last().map(ToString::to_string).unwrap_or_default();
    last.lines().next().unwrap_or_default().chars().take(MAX_TEXT).collect()
}

fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&it| it.source())
}

fn connection(error: &Error) -> Option<HttpErrorKind> {
    causes(error).find_map(|it| it.downcast_ref::<HttpError>()).map(HttpError::kind)
}

/// The words of all causes, in which codes are looked for.
fn all_of(error: &Error) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What servers call a fault: `AccessDenied` of `<Code>AccessDenied</Code>`.
fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = !code.is_empty() && code.bytes().all(|it| it.is_ascii_alphanumeric());
    is_word.then_some(code)
}

/// The number and name of an answer: `503 Service Unavailable`.
fn status(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("non-2xx status code: ")?;
    let status = rest.split([':', '\n']).next()?.trim();
    (!status.is_empty()).then_some(status)
}
