//! `search_files`: lines that fit a pattern.

use super::arguments::{flag, number, text, texts};
use super::{Call, Done};
use convoke_files::search::{Failed, Matches, Search};

/// Matches where nothing is said.
const MATCHES: usize = 200;
/// Characters that are shown.
const MOST: usize = 40_000;

pub(super) fn perform(call: &Call) -> Done {
    let search = Search {
        pattern: text(&call.arguments, "pattern").unwrap_or_default().to_owned(),
        is_regex: !flag(&call.arguments, "literal"),
        any_case: flag(&call.arguments, "ignore_case"),
        globs: texts(&call.arguments, "glob"),
        context: number(&call.arguments, "context").unwrap_or(0),
        most: number(&call.arguments, "limit").unwrap_or(MATCHES),
        with_ignored: flag(&call.arguments, "ignored"),
    };
    let path = text(&call.arguments, "path").unwrap_or(".");
    match search.run(&call.root, path, &|| call.stop.is_cancelled()) {
        Ok(matches) => Ok(shown(&matches)),
        Err(error @ Failed::Pattern(_)) => Err(format!("{error}\nset `literal` for plain text")),
        Err(error) => Err(error.to_string()),
    }
}

fn shown(matches: &Matches) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut length = 0;
    let mut cut = matches.cut;
    'files: for file in &matches.files {
        lines.push(file.path.clone());
        for (number, hit, text) in &file.lines {
            let line = format!("{number:>6}{} {text}", if *hit { ':' } else { '-' });
            length += line.len() + 1;
            if length > MOST {
                cut = Some("the result is long");
                break 'files;
            }
            lines.push(line);
        }
    }
    let files = matches.files.len();
    let plural =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let mut last = match matches.count {
        0 => "no line fits".to_owned(),
        count => format!("{} in {}", plural(count, "match", "matches"), plural(files, "file", "files")),
    };
    if let Some(why) = cut {
        last.push_str(&format!("; not all is shown: {why}; narrow it by `path` or `glob`"));
    }
    if matches.too_long > 0 {
        last.push_str(&format!(
            "; {} too long to be searched",
            plural(matches.too_long, "file was", "files were")
        ));
    }
    lines.push(format!("[{last}]"));
    lines.join("\n")
}
