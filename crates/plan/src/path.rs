//! Paths inside a world of sources: texts with `/`, never looked up here.

/// Resolves `path` as written inside the file `containing`.
pub fn join_beside(containing: &str, path: &str) -> String {
    if path.starts_with('/') {
        return normalise(path);
    }
    match containing.rsplit_once('/') {
        Some((folder, _)) => normalise(&format!("{folder}/{path}")),
        None => normalise(path),
    }
}

/// Removes `.` and resolves `..` where a name stands before it; leading `..` stay.
pub fn normalise(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => climb(&mut parts, absolute),
            name => parts.push(name),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

fn climb(parts: &mut Vec<&str>, absolute: bool) {
    match parts.last() {
        Some(&last) if last != ".." => {
            parts.pop();
        }
        None if absolute => {}
        _ => parts.push(".."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_resolves_beside_its_file() {
        let cases = [
            ("flows/main.yaml", "prompts/a.md", "flows/prompts/a.md"),
            ("flows/main.yaml", "../shared/a.md", "shared/a.md"),
            ("main.yaml", "./a.md", "a.md"),
            ("main.yaml", "../../a.md", "../../a.md"),
            ("/srv/w/main.yaml", "../a.md", "/srv/a.md"),
            ("/main.yaml", "../../a.md", "/a.md"),
            ("w/main.yaml", "/etc/x", "/etc/x"),
            ("/main.yaml", "a.md", "/a.md"),
        ];
        for (containing, path, expected) in cases {
            assert_eq!(join_beside(containing, path), expected, "{path} beside {containing}");
        }
    }
}
