//! Parses SQL text to a [`Predicate`].
//!
//! ```text
//! or       := and (OR and)*
//! and      := not (AND not)*
//! not      := NOT not | '(' or ')' | test
//! test     := TRUE | FALSE | name | name op literal | literal op name
//!           | name IS [NOT] (NULL | NAN)
//!           | name [NOT] IN '(' [literal (',' literal)*] ')'
//!           | name [NOT] BETWEEN literal AND literal
//!           | name [NOT] LIKE 'pattern' [ESCAPE 'c']
//! literal  := NULL | TRUE | FALSE | [+-] (number | INF | INFINITY | NAN) | 'text' | X'00ff'
//!           | DATE 'text' | TIME 'text' | TIMESTAMP 'text'
//! ```
//!
//! Keywords are case-insensitive. A word such as `date` or `inf` is a literal only where a literal is allowed, so
//! columns with such names need no quotes in a test.

use super::lex::{Language, Lexer, Token};
use super::{ColumnName, CompareOp, Literal, Predicate};
use crate::error::{Error, Result};

/// The maximum nesting depth of parentheses and NOTs.
pub(crate) const MAX_DEPTH: usize = 200;

impl Predicate {
    /// Parses SQL text. An `InvalidArgument` error contains the character position and what was expected there.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser::new(text, Language::Filter)?;
        let predicate = parser.or()?;
        match parser.token {
            Token::End => Ok(predicate),
            _ => Err(parser.expected("AND, OR or the end")),
        }
    }
}

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

/// One side of a comparison.
enum Operand {
    Name(ColumnName),
    Literal(Literal),
    /// `nan` or `inf`: a number if compared with a column, a column if compared with a literal.
    Either(ColumnName, Literal),
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

    fn or(&mut self) -> Result<Predicate> {
        let first = self.and()?;
        if !self.at_word("or") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take_word("or")? {
            parts.push(self.and()?);
        }
        Ok(Predicate::Or(parts))
    }

    fn and(&mut self) -> Result<Predicate> {
        let first = self.not()?;
        if !self.at_word("and") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take_word("and")? {
            parts.push(self.not()?);
        }
        Ok(Predicate::And(parts))
    }

    fn not(&mut self) -> Result<Predicate> {
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.error(self.at, format!("more than {MAX_DEPTH} nested parentheses and NOTs")));
        }
        self.depth += 1;
        let predicate = if self.take_word("not")? {
            Predicate::Not(Box::new(self.not()?))
        } else if self.token == Token::Open {
            self.advance()?;
            let inner = self.or()?;
            self.require(&Token::Close, "AND, OR or `)`")?;
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    fn test(&mut self) -> Result<Predicate> {
        let left = self.operand("a column, a literal, NOT or `(`")?;
        if let Token::Compare(op) = self.token {
            self.advance()?;
            return self.compare(left, op);
        }
        let name = match left {
            Operand::Literal(Literal::Boolean(true)) => return Ok(Predicate::True),
            Operand::Literal(Literal::Boolean(false)) => return Ok(Predicate::False),
            Operand::Literal(_) => return Err(self.expected("a comparison after the literal")),
            Operand::Name(name) | Operand::Either(name, _) => name,
        };
        if self.take_word("is")? {
            return self.is(name);
        }
        let negated = self.take_word("not")?;
        let test = if self.take_word("in")? {
            Predicate::In(name, self.list()?)
        } else if self.take_word("between")? {
            let low = self.literal()?;
            if !self.take_word("and")? {
                return Err(self.expected("AND and the upper end of BETWEEN"));
            }
            let high = self.literal()?;
            Predicate::And(vec![
                Predicate::Compare(name.clone(), CompareOp::GtEq, low),
                Predicate::Compare(name, CompareOp::LtEq, high),
            ])
        } else if self.take_word("like")? {
            Predicate::Like(name, self.pattern()?)
        } else if negated {
            return Err(self.expected("IN, BETWEEN or LIKE after NOT"));
        } else {
            return Ok(Predicate::Column(name));
        };
        Ok(if negated { Predicate::Not(Box::new(test)) } else { test })
    }

    fn compare(&mut self, left: Operand, op: CompareOp) -> Result<Predicate> {
        let start = self.at;
        let right = self.operand("a literal")?;
        match (left, right) {
            (
                Operand::Name(name) | Operand::Either(name, _),
                Operand::Literal(literal) | Operand::Either(_, literal),
            ) => Ok(Predicate::Compare(name, op, literal)),
            (Operand::Literal(literal) | Operand::Either(_, literal), Operand::Name(name))
            | (Operand::Literal(literal), Operand::Either(name, _)) => {
                Ok(Predicate::Compare(name, op.flipped(), literal))
            }
            (Operand::Name(_), Operand::Name(name)) => Err(self
                .lexer
                .error(start, format!("expected a literal, found the name `{}`", name.0.join(".")))
                .hint("a column can only be compared with a literal; string literals need single quotes")),
            (Operand::Literal(_), Operand::Literal(_)) => {
                Err(self.lexer.error(start, "expected a column to compare the literal with"))
            }
        }
    }

    fn is(&mut self, name: ColumnName) -> Result<Predicate> {
        let negated = self.take_word("not")?;
        let test = if self.take_word("null")? {
            Predicate::IsNull(name)
        } else if self.take_word("nan")? {
            Predicate::IsNan(name)
        } else {
            return Err(self.expected(if negated { "NULL or NAN" } else { "NULL, NAN or NOT" }));
        };
        Ok(if negated { Predicate::Not(Box::new(test)) } else { test })
    }

    fn list(&mut self) -> Result<Vec<Literal>> {
        self.require(&Token::Open, "`(` after IN")?;
        let mut literals = Vec::new();
        if self.token != Token::Close {
            literals.push(self.literal()?);
            while self.token == Token::Comma {
                self.advance()?;
                literals.push(self.literal()?);
            }
        }
        self.require(&Token::Close, "`,` or `)`")?;
        Ok(literals)
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

    fn literal(&mut self) -> Result<Literal> {
        let start = self.at;
        match self.operand("a literal")? {
            Operand::Literal(literal) | Operand::Either(_, literal) => Ok(literal),
            Operand::Name(name) => Err(self
                .lexer
                .error(start, format!("expected a literal, found the name `{}`", name.0.join(".")))
                .hint("string literals need single quotes")),
        }
    }

    /// Parses an operand; `expected` describes the possible operands.
    fn operand(&mut self, expected: &str) -> Result<Operand> {
        let literal = |literal| Ok(Operand::Literal(literal));
        match &self.token {
            Token::Word(_) | Token::Name(_) | Token::Number(_) | Token::Text(_) | Token::Bytes(_) => {}
            Token::Minus | Token::Plus => return self.signed(),
            _ => return Err(self.expected(expected)),
        }
        match self.token {
            Token::Word(ref word) if is_keyword(word) => return Err(self.expected(expected)),
            _ => {}
        }
        match self.advance()? {
            Token::Word(word) => self.word(word),
            Token::Name(parts) => Ok(Operand::Name(ColumnName(parts))),
            Token::Number(digits) => literal(Literal::Number(digits)),
            Token::Text(text) => literal(Literal::String(text)),
            Token::Bytes(bytes) => literal(Literal::Binary(bytes)),
            _ => Err(Error::internal("the current token changed unexpectedly")),
        }
    }

    /// Parses an operand that starts with a word, which is already consumed and not a keyword.
    fn word(&mut self, word: String) -> Result<Operand> {
        let lower = word.to_ascii_lowercase();
        let typed: Option<fn(String) -> Literal> = match lower.as_str() {
            "null" => return Ok(Operand::Literal(Literal::Null)),
            "true" => return Ok(Operand::Literal(Literal::Boolean(true))),
            "false" => return Ok(Operand::Literal(Literal::Boolean(false))),
            "date" => Some(Literal::Date),
            "time" => Some(Literal::Time),
            "timestamp" => Some(Literal::Timestamp),
            _ => None,
        };
        if let (Some(typed), Token::Text(_)) = (typed, &self.token) {
            let Token::Text(text) = self.advance()? else {
                return Err(Error::internal("the current token changed unexpectedly"));
            };
            return Ok(Operand::Literal(typed(text)));
        }
        Ok(match special_number(&lower) {
            Some(number) => Operand::Either(ColumnName(vec![word]), Literal::Number(number.to_string())),
            None => Operand::Name(ColumnName(vec![word])),
        })
    }

    /// Parses a number after its sign. A plus sign is dropped, as is any sign of NaN.
    fn signed(&mut self) -> Result<Operand> {
        let sign = if self.token == Token::Minus { "-" } else { "" };
        self.advance()?;
        let special = match &self.token {
            Token::Word(word) => special_number(&word.to_ascii_lowercase()),
            _ => None,
        };
        let digits = match (&self.token, special) {
            (_, Some("nan")) => "nan".to_string(),
            (_, Some(inf)) => format!("{sign}{inf}"),
            (Token::Number(digits), None) => format!("{sign}{digits}"),
            _ => return Err(self.expected("a number after the sign")),
        };
        self.advance()?;
        Ok(Operand::Literal(Literal::Number(digits)))
    }
}

/// Returns whether a word is a keyword that ends an operand.
fn is_keyword(word: &str) -> bool {
    is_reserved(word) && !["null", "true", "false"].iter().any(|literal| word.eq_ignore_ascii_case(literal))
}

/// Returns the number that a word represents, in lower case.
pub(crate) fn special_number(word: &str) -> Option<&'static str> {
    match word {
        "nan" => Some("nan"),
        "inf" | "infinity" => Some("inf"),
        _ => None,
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
