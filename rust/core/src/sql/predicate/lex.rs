//! Splits text into tokens, one at a time.
//!
//! A dotted name is one token, because its parts must not be separated by spaces; so are a number and `X'00ff'`.

use super::CompareOp;
use crate::error::{Error, Result};
use crate::hex;

/// The maximum length of the text.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// The length of the excerpts of the text in messages.
const EXCERPT_CHARS: usize = 120;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// An unquoted name with one part, which may be a keyword.
    Word(String),
    /// A name that is quoted or has several parts.
    Name(Vec<String>),
    /// An unsigned number, in its original form.
    Number(String),
    /// `'text'`.
    Text(String),
    /// `X'00ff'`.
    Bytes(Vec<u8>),
    /// A comparison operator.
    Compare(CompareOp),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `||`
    Concat,
    /// `<=>`
    Same,
    /// The end of the text.
    End,
}

/// The text and the current position.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    language: Language,
}

/// The purpose of the text, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// The text of [`crate::sql::expression::Expression::filter`].
    Filter,
    /// The text of [`crate::sql::expression::Expression::parse`].
    Expression,
}

impl Language {
    fn noun(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Expression => "expression",
        }
    }
}

impl Token {
    /// Returns the token as displayed in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Word(word) => format!("`{}`", excerpt(word, 0)),
            Self::Name(parts) => format!("the name `{}`", excerpt(&parts.join("."), 0)),
            Self::Number(number) => format!("the number {number}"),
            Self::Text(text) => format!("the string '{}'", excerpt(text, 0)),
            Self::Bytes(_) => "bytes X'...'".to_string(),
            Self::Compare(op) => format!("`{}`", op.symbol()),
            Self::Open => "`(`".to_string(),
            Self::Close => "`)`".to_string(),
            Self::Comma => "`,`".to_string(),
            Self::Minus => "`-`".to_string(),
            Self::Plus => "`+`".to_string(),
            Self::Star => "`*`".to_string(),
            Self::Slash => "`/`".to_string(),
            Self::Percent => "`%`".to_string(),
            Self::Concat => "`||`".to_string(),
            Self::Same => "`<=>`".to_string(),
            Self::End => "the end".to_string(),
        }
    }
}

impl<'a> Lexer<'a> {
    /// Creates a lexer at the start of the text; `InvalidArgument` for text that is too long.
    pub(crate) fn new(text: &'a str, language: Language) -> Result<Self> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(Error::invalid(format!(
                "text of {} bytes is too long for a {}; at most {MAX_TEXT_BYTES} are allowed",
                text.len(),
                language.noun()
            )));
        }
        Ok(Self { text, at: 0, language })
    }

    /// Returns an error at a byte offset, with the character position and the surrounding text.
    pub(crate) fn error(&self, offset: usize, message: impl std::fmt::Display) -> Error {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let position = before.chars().count() + 1;
        let noun = self.language.noun();
        Error::invalid(format!("invalid {noun} at character {position}: {message}"))
            .with(noun, excerpt(self.text, position.saturating_sub(EXCERPT_CHARS / 2)))
    }

    /// Returns the next token and its byte offset.
    pub(crate) fn next(&mut self) -> Result<(Token, usize)> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        let start = self.at;
        let Some(first) = self.peek() else { return Ok((Token::End, start)) };
        let token = match first {
            '\'' => Token::Text(self.quoted('\'')?),
            'x' | 'X' if self.rest().get(1..2) == Some("'") => {
                self.at += 1;
                Token::Bytes(self.bytes(start)?)
            }
            '"' | '`' => self.name()?,
            _ if begins_name(first) => self.name()?,
            _ if first.is_ascii_digit() || (first == '.' && self.digit_follows()) => Token::Number(self.number()?),
            _ => self.symbol(first)?,
        };
        Ok((token, start))
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn digit_follows(&self) -> bool {
        self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit())
    }

    /// Reads characters while `keep` is true.
    fn run(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Reads text between two quotes, in which a doubled quote is a single one.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let start = self.at;
        let mut found = String::new();
        loop {
            self.at += 1; // the opening quote, or the second one of a doubled quote
            found.push_str(self.run(|c| c != quote));
            if self.peek().is_none() {
                return Err(self.error(start, format!("{quote} is not closed")));
            }
            self.at += 1;
            if self.peek() != Some(quote) {
                return Ok(found);
            }
            found.push(quote);
        }
    }

    fn bytes(&mut self, start: usize) -> Result<Vec<u8>> {
        let text = self.quoted('\'')?;
        hex::decode(&text).ok_or_else(|| self.error(start, "X'...' requires pairs of hexadecimal digits"))
    }

    /// Reads `part.part`, where each part may be quoted.
    fn name(&mut self) -> Result<Token> {
        let mut parts = Vec::new();
        let mut any_quoted = false;
        loop {
            let start = self.at;
            match self.peek() {
                Some(quote @ ('"' | '`')) => {
                    any_quoted = true;
                    parts.push(self.quoted(quote)?);
                }
                Some(first) if begins_name(first) => parts.push(self.run(continues_name).to_string()),
                _ => return Err(self.error(start, "expected a field name after `.`")),
            }
            if self.peek() != Some('.') {
                break;
            }
            self.at += 1;
        }
        match (parts.pop(), parts.is_empty(), any_quoted) {
            (Some(only), true, false) => Ok(Token::Word(only)),
            (last, _, _) => {
                parts.extend(last);
                Ok(Token::Name(parts))
            }
        }
    }

    /// Reads `digits[.digits][e[+-]digits]` or `.digits`, with or without an exponent.
    fn number(&mut self) -> Result<String> {
        let start = self.at;
        self.run(|c| c.is_ascii_digit());
        if self.peek() == Some('.') {
            self.at += 1;
            self.run(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.peek(), Some('+' | '-')) {
                self.at += 1;
            }
            if self.run(|c| c.is_ascii_digit()).is_empty() {
                return Err(self.error(start, "the exponent of the number has no digits"));
            }
        }
        if self.peek().is_some_and(|c| continues_name(c) || c == '.') {
            return Err(self
                .error(start, "a number is followed directly by other text")
                .hint("quote a name that begins with a digit"));
        }
        Ok(self.text.get(start..self.at).unwrap_or_default().to_string())
    }

    fn symbol(&mut self, first: char) -> Result<Token> {
        let two = |text: &str| self.rest().starts_with(text);
        let (token, length) = match first {
            '<' if two("<=>") => (Token::Same, 3),
            '|' if two("||") => (Token::Concat, 2),
            '*' => (Token::Star, 1),
            '/' => (Token::Slash, 1),
            '%' => (Token::Percent, 1),
            '<' if two("<=") => (Token::Compare(CompareOp::LtEq), 2),
            '<' if two("<>") => (Token::Compare(CompareOp::NotEq), 2),
            '>' if two(">=") => (Token::Compare(CompareOp::GtEq), 2),
            '!' if two("!=") => (Token::Compare(CompareOp::NotEq), 2),
            '=' if two("==") => (Token::Compare(CompareOp::Eq), 2),
            '<' => (Token::Compare(CompareOp::Lt), 1),
            '>' => (Token::Compare(CompareOp::Gt), 1),
            '=' => (Token::Compare(CompareOp::Eq), 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '-' => (Token::Minus, 1),
            '+' => (Token::Plus, 1),
            other => return Err(self.error(self.at, format!("unexpected `{other}`"))),
        };
        self.at += length;
        Ok(token)
    }
}

/// Returns whether an unquoted name can begin with this character.
pub(crate) fn begins_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic() || (!c.is_ascii() && !c.is_whitespace() && !c.is_control())
}

/// Returns whether an unquoted name can continue with this character.
pub(crate) fn continues_name(c: char) -> bool {
    c == '$' || c.is_ascii_digit() || begins_name(c)
}

/// Returns at most [`EXCERPT_CHARS`] characters of a text, starting at a given character.
pub(crate) fn excerpt(text: &str, from: usize) -> String {
    let mut chars = text.chars().skip(from);
    let mut shown: String = if from > 0 { "...".to_string() } else { String::new() };
    shown.extend(chars.by_ref().take(EXCERPT_CHARS));
    if chars.next().is_some() {
        shown.push_str("...");
    }
    shown
}
