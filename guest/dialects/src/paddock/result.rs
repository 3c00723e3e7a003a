//! Results as JSON.

use paddock_scan::json;
use paddock_types::response::{Read, Response};

use crate::dialect::answer;

/// Serializes a response. `serde_json` takes four times as long for the content of a file, which is most of a result.
pub fn to_json(response: Response) -> String {
    let Response::Read(mut read) = response else { return answer::to_json(&response) };
    let content = std::mem::take(&mut read.content);
    let rest = answer::to_json(&read);
    // In the path, which comes first, quotation marks have a backslash.
    let Some((before, after)) = rest.split_once(r#""content":"""#) else {
        return answer::to_json(&Read { content, ..read });
    };
    let mut result = format!(r#"{before}"content":"#);
    json::string(&mut result, &content);
    result + after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_of_a_read_is_that_of_serde_json() {
        for path in ["a.rs", r#""content":"","#, r#"\"content":""\"#] {
            for content in ["", "a\n", "\"content\":\"\"", "\u{1}\\ \"é\"\r\n\t"] {
                let read = Read {
                    path: path.to_owned(),
                    content: content.to_owned(),
                    start_line: 1,
                    end_line: 2,
                    total_lines: Some(3),
                    next_offset: None,
                    truncated: false,
                    encoding: "UTF-8".to_owned(),
                    bom: false,
                    line_ending: "lf",
                    size: 9,
                    modified: None,
                    etag: None,
                    sha256: None,
                    mime: content.to_owned(),
                    unchanged: false,
                    diff: Some(content.to_owned()),
                    is_open: false,
                };
                let expected = serde_json::to_string(&Response::Read(read.clone())).unwrap();
                assert_eq!(to_json(Response::Read(read)), expected);
            }
        }
    }
}
