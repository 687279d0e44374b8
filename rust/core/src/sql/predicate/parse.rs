//! The parts of a parser that do not depend on the grammar of [`Expression`](crate::sql::expression::Expression).

use super::lex::{Language, Lexer, Token};
use crate::error::{Error, Result};

/// The maximum nesting depth of parentheses and NOTs.
pub(crate) const MAX_DEPTH: usize = 200;

/// Returns whether a name must be quoted to be a column.
pub(crate) fn is_reserved(word: &str) -> bool {
    const RESERVED: [&str; 10] = ["and", "or", "not", "is", "in", "between", "like", "null", "true", "false"];
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

/// A parser that is one token ahead of the lexer.
pub(crate) struct Parser<'a> {
    pub(crate) lexer: Lexer<'a>,
    pub(crate) token: Token,
    pub(crate) at: usize,
    pub(crate) depth: usize,
}

impl<'a> Parser<'a> {
    /// Creates a parser and reads the first token.
    pub(crate) fn new(text: &'a str, language: Language) -> Result<Self> {
        let mut lexer = Lexer::new(text, language)?;
        let (token, at) = lexer.next()?;
        Ok(Self { lexer, token, at, depth: 0 })
    }

    pub(crate) fn advance(&mut self) -> Result<Token> {
        let (token, at) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    pub(crate) fn expected(&self, what: &str) -> Error {
        self.lexer.error(self.at, format!("expected {what}, found {}", self.token.describe()))
    }

    pub(crate) fn at_word(&self, keyword: &str) -> bool {
        matches!(&self.token, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    pub(crate) fn take_word(&mut self, keyword: &str) -> Result<bool> {
        let found = self.at_word(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(crate) fn require(&mut self, token: &Token, what: &str) -> Result<()> {
        if self.token != *token {
            return Err(self.expected(what));
        }
        self.advance().map(|_| ())
    }

    /// Parses the pattern, rewritten to escape with `\` if it declares another escape character.
    pub(crate) fn pattern(&mut self) -> Result<String> {
        let Token::Text(_) = self.token else { return Err(self.expected("a pattern in single quotes after LIKE")) };
        let Token::Text(pattern) = self.advance()? else {
            return Err(Error::internal("the current token changed unexpectedly"));
        };
        if !self.take_word("escape")? {
            return Ok(pattern);
        }
        let at = self.at;
        let escape = match &self.token {
            Token::Text(text) if text.chars().count() <= 1 => text.chars().next(),
            _ => return Err(self.expected("one character in single quotes after ESCAPE")),
        };
        self.advance()?;
        if escape == Some('\\') {
            return Ok(pattern);
        }
        let mut rewritten = String::with_capacity(pattern.len());
        let mut chars = pattern.chars();
        while let Some(next) = chars.next() {
            if Some(next) == escape {
                let plain = chars
                    .next()
                    .ok_or_else(|| self.lexer.error(at, "the LIKE pattern ends with its escape character"))?;
                rewritten.extend(['\\', plain]);
            } else if next == '\\' {
                rewritten.push_str(r"\\");
            } else {
                rewritten.push(next);
            }
        }
        Ok(rewritten)
    }
}

/// Returns the number that a word represents, in lower case.
pub(crate) fn special_number(word: &str) -> Option<&'static str> {
    match word {
        "nan" => Some("nan"),
        "inf" | "infinity" => Some("inf"),
        _ => None,
    }
}
