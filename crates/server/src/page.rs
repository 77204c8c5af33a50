//! The page's own files, which are built into the program and hold nothing.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

#[derive(RustEmbed)]
#[folder = "../../ui/dist"]
struct Files;

/// Files that have a hash in their name never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// A file of the page, or the page itself: it finds out by itself what its address shows.
pub(crate) async fn file(uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if let Some(found) = Files::get(path).filter(|_| !path.is_empty()) {
        let cache = if path.starts_with("assets/") { FOR_EVER } else { "no-cache" };
        let headers = [(header::CONTENT_TYPE, kind(path)), (header::CACHE_CONTROL, cache)];
        return (headers, found.data).into_response();
    }
    if path.starts_with("assets/") {
        return (StatusCode::NOT_FOUND, "there is no such file").into_response();
    }
    match Files::get("index.html") {
        Some(page) => {
            let headers = [(header::CONTENT_TYPE, kind("index.html")), (header::CACHE_CONTROL, "no-cache")];
            (headers, page.data).into_response()
        }
        None => (StatusCode::NOT_FOUND, "this build has no page").into_response(),
    }
}

/// The text of a built file, by the beginning and the end of its path.
pub(crate) fn built(begin: &str, end: &str) -> Option<String> {
    let path = Files::iter().find(|path| path.starts_with(begin) && path.ends_with(end))?;
    String::from_utf8(Files::get(&path)?.data.into_owned()).ok()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" | "webmanifest" => "application/json",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
