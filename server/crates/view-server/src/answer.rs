//! The answer to a request.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde::de::DeserializeOwned;

use crate::ViewSource;
use crate::access::is_to_this_machine;
use crate::request::PictureRequest;

/// The longest body of a request, in bytes: a place or a range.
const MAX_BODY: usize = 64 << 10;
/// How long a request waits for a change before it is to be made again.
const MAX_WAIT: Duration = Duration::from_secs(25);

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// What went wrong: the status, and a sentence.
type Refusal = (StatusCode, String);

/// Answers a request of any kind.
pub(crate) async fn answer(
    request: Request<Incoming>,
    key: &str,
    source: &impl ViewSource,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let served = served(request, key, source).await;
    let (status, kind, body) = served.unwrap_or_else(|(status, message)| (status, TEXT, message));
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, kind),
        // The address has the key.
        (REFERRER_POLICY, "no-referrer"),
        // What runs in the page is said by the page; no other page may have it in a frame.
        (CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Status, kind and text of what was asked for.
async fn served(
    request: Request<Incoming>,
    key: &str,
    source: &impl ViewSource,
) -> Result<(StatusCode, &'static str, String), Refusal> {
    let unusable = |message| (StatusCode::UNPROCESSABLE_ENTITY, message);
    let path = request.uri().path().strip_prefix('/').and_then(|it| it.strip_prefix(key));
    let Some(path) = path.filter(|_| is_to_this_machine(request.headers())) else {
        let message = "The address needs the key that Perfline printed with it.";
        return Err((StatusCode::FORBIDDEN, message.to_owned()));
    };
    match (request.method().clone(), path) {
        (Method::GET, "/") => Ok(match source.page().await {
            Ok(page) => (StatusCode::OK, HTML, page),
            Err(message) => (StatusCode::SERVICE_UNAVAILABLE, HTML, waiting_page(&message)),
        }),
        (Method::POST, "/picture") => {
            let PictureRequest { picture, part } = body(request).await?;
            let drawn = source.picture(picture, part).await.map_err(unusable)?;
            Ok((StatusCode::OK, JSON, drawn))
        }
        (Method::POST, "/open") => {
            source.open(body(request).await?).await.map_err(unusable)?;
            Ok((StatusCode::OK, TEXT, String::new()))
        }
        (Method::GET, "/changed") => {
            let known = request.uri().query().and_then(|it| it.strip_prefix("from=")?.parse().ok());
            let expected = || "expected changed?from=NUMBER".to_owned();
            let known = known.ok_or_else(|| (StatusCode::BAD_REQUEST, expected()))?;
            drop(tokio::time::timeout(MAX_WAIT, source.changed(known)).await);
            Ok((StatusCode::OK, TEXT, source.version().to_string()))
        }
        _ => Err((StatusCode::NOT_FOUND, "There is nothing at this address.".to_owned())),
    }
}

/// Says why there is no page, and is loaded again until there is one.
fn waiting_page(message: &str) -> String {
    let message = message.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"3\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\"><title>Perfline</title></head>\
         <body><p>{message}</p></body></html>"
    )
}

/// What a request says. Browsers send JSON to another site only if that allows it, which this one does not.
async fn body<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Refusal> {
    if request.headers().get(CONTENT_TYPE).is_none_or(|it| it != JSON) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("expected {JSON}")));
    }
    let bad = |message: String| (StatusCode::BAD_REQUEST, message);
    let body = Limited::new(request.into_body(), MAX_BODY).collect().await;
    let bytes = body.map_err(|error| bad(error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))
}
