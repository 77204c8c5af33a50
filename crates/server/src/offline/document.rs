//! The frame of the file: the built page with its script and its style inside, and the policy that lets it do nothing else.
//!
//! Scripts and styles are named by their hash, so that nothing which comes into the document by another way can run. There is no address
//! that the page may reach.

use crate::page;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{self, Write};

/// The parts of the page.
pub(super) struct Frame {
    script: String,
    style: String,
    /// Lays out graphs; a worker of its own.
    worker: String,
    mark: String,
}

impl Frame {
    /// Of the page that is built into the program; `None` where none is.
    pub fn new() -> Option<Frame> {
        let file = |begin: &str, end: &str| {
            let text = page::built(begin, end)?;
            // The text of a script must not end its element; an escape in its place means the same there.
            Some(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))
        };
        Some(Frame {
            script: file("assets/index-", ".js")?,
            style: page::built("assets/style-", ".css")?,
            worker: file("assets/layout.worker-", ".js")?,
            mark: page::built("mark", ".svg")?,
        })
    }

    /// Everything before the data.
    pub fn begin(&self, title: &str, out: &mut dyn Write) -> io::Result<()> {
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'",
            named(&self.script),
            named(&self.style)
        );
        let mark = STANDARD.encode(&self.mark);
        let (title, style) = (escaped(title), &self.style);
        write!(
            out,
            r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" type="image/svg+xml" href="data:image/svg+xml;base64,{mark}">
<title>{title} · Convoke</title>
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This file shows a run with JavaScript, and asks nothing of any server.</noscript>
<script type="application/json" id="recorded-run">"#
        )
    }

    /// Everything after them.
    pub fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        let (worker, script) = (&self.worker, &self.script);
        write!(
            out,
            "</script>\n<script type=\"text/plain\" id=\"layout-worker\">{worker}</script>\n<script type=\"module\">{script}</script>\n</body>\n</html>\n"
        )
    }
}

/// A text as a policy names it.
fn named(text: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(hash))
}

fn escaped(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !convoke_model::is_control(*c)).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_holds_the_page_and_names_no_address() {
        let frame = Frame::new().expect("the build is committed");
        let mut out = Vec::new();
        frame.begin("a<b & \"c\"\u{202e}", &mut out).unwrap();
        frame.end(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("<title>a&lt;b &amp; &quot;c&quot; · Convoke</title>"));
        assert_eq!(text.matches("</script").count(), 3, "each script ends once");
        assert_eq!(text.matches("<script").count() - frame.script.matches("<script").count(), 3);
        assert_eq!(text.matches("</style").count(), 1);
        for asks in [" src=", "url(http", "@import", "import(\"/", "rel=\"stylesheet\""] {
            assert!(
                !frame.style.contains(asks) && !text[..text.find("<style>").unwrap()].contains(asks),
                "{asks}"
            );
        }
    }
}
