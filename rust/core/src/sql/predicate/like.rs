//! LIKE patterns: `%` matches any text, `_` one character, and `\` escapes the next character.

use super::{LikePart, LikePattern};
use crate::error::{Error, Result};

impl LikePattern {
    /// Parses a pattern; `InvalidArgument` if it ends with an escape.
    pub fn parse(pattern: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut chars = pattern.chars();
        while let Some(next) = chars.next() {
            match next {
                '\\' => text.push(chars.next().ok_or_else(|| {
                    Error::invalid(format!("the LIKE pattern '{pattern}' ends with an escape"))
                        .hint("write `\\\\` for a backslash")
                })?),
                '%' | '_' => {
                    if !text.is_empty() {
                        parts.push(LikePart::Text(std::mem::take(&mut text)));
                    }
                    if next == '_' {
                        parts.push(LikePart::One);
                    } else if parts.last() != Some(&LikePart::Any) {
                        parts.push(LikePart::Any);
                    }
                }
                plain => text.push(plain),
            }
        }
        if !text.is_empty() {
            parts.push(LikePart::Text(text));
        }
        Ok(Self { text: pattern.to_string(), parts })
    }

    /// Returns the prefix of every match, which may be empty.
    pub fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(LikePart::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns whether all of `text` matches.
    ///
    /// Backtracking only retries the last `%`, because it can match everything that an earlier `%` could. The time is
    /// therefore at most proportional to the product of the lengths, without recursion.
    pub fn matches(&self, text: &str) -> bool {
        let mut rest = text;
        let mut parts = self.parts.as_slice();
        let mut retry: Option<(&[LikePart], &str)> = None;
        loop {
            let step = match parts.split_first() {
                None if rest.is_empty() => return true,
                None => None,
                Some((LikePart::Any, after)) => {
                    if after.is_empty() {
                        return true;
                    }
                    retry = Some((after, rest));
                    Some((after, rest))
                }
                Some((LikePart::One, after)) => without_first(rest).map(|rest| (after, rest)),
                Some((LikePart::Text(text), after)) => rest.strip_prefix(text.as_str()).map(|rest| (after, rest)),
            };
            if let Some(next) = step {
                (parts, rest) = next;
                continue;
            }
            let Some((after, from)) = retry else { return false };
            let Some(from) = without_first(from) else { return false };
            // If fixed text must follow, skip to its next occurrence.
            let from = match after.first() {
                Some(LikePart::Text(text)) => match from.find(text.as_str()) {
                    Some(at) => from.get(at..).unwrap_or_default(),
                    None => return false,
                },
                _ => from,
            };
            retry = Some((after, from));
            (parts, rest) = (after, from);
        }
    }
}

/// Returns plain text as a pattern that matches only that text.
pub(super) fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for next in text.chars() {
        if matches!(next, '\\' | '%' | '_') {
            pattern.push('\\');
        }
        pattern.push(next);
    }
    pattern
}

fn without_first(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    chars.next().map(|_| chars.as_str())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", "", true)]
    #[case("", "a", false)]
    #[case("%", "", true)]
    #[case("_", "", false)]
    #[case("_", "\u{1F600}", true)]
    #[case("a%", "abc", true)]
    #[case("%abc", "abcabc", true)]
    #[case("%abc", "abcab", false)]
    #[case("a%b%c", "axxbyyc", true)]
    #[case("a%b%c", "axxbyy", false)]
    #[case("a_c", "abc", true)]
    #[case("a_c", "ac", false)]
    #[case("%_%", "", false)]
    #[case("%_x_%", "axb", true)]
    #[case("%__x", "axxbx", true)]
    #[case(r"100\%", "100%", true)]
    #[case(r"100\%", "1000", false)]
    #[case(r"a\_b", "a_b", true)]
    #[case(r"a\_b", "axb", false)]
    #[case(r"a\\b", r"a\b", true)]
    #[case("A", "a", false)]
    #[case("%\u{e9}_", "caf\u{e9}s", true)]
    fn patterns_match_whole_texts(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(LikePattern::parse(pattern).unwrap().matches(text), expected);
    }

    #[test]
    fn an_escape_at_the_end_is_refused() {
        assert!(LikePattern::parse(r"a\").is_err());
    }

    #[test]
    fn many_wildcards_do_not_explode() {
        let pattern = LikePattern::parse(&"%a_".repeat(50)).unwrap();
        assert!(!pattern.matches(&"a".repeat(99)));
        assert!(pattern.matches(&"a".repeat(100)));
    }
}
