//! Parses SQL text to an [`Expression`].
//!
//! ```text
//! or       := and (OR and)*
//! and      := not (AND not)*
//! not      := NOT not | test
//! test     := sum [op sum | <=> sum | IS [NOT] (NULL | NAN | TRUE | FALSE | DISTINCT FROM sum)
//!           | [NOT] IN '(' or (',' or)* ')' | [NOT] BETWEEN sum AND sum
//!           | [NOT] (LIKE | ILIKE) 'pattern' [ESCAPE 'c']]
//! sum      := product (('+' | '-' | '||') product | ('+' | '-') interval)*
//! interval := INTERVAL ('number unit …' | number unit | 'number' unit)+
//! product  := sign (('*' | '/' | '%') sign)*
//! sign     := [+-] sign | value
//! value    := '(' or ')' | literal | name | name '(' [or (',' or)*] ')'
//!           | CASE [or] (WHEN or THEN or)+ [ELSE or] END | (CAST | TRY_CAST) '(' or AS type ')'
//! ```

use std::sync::Arc;

use arrow_schema::DataType;

use super::bind::now_micros;
use super::interval::Interval;
use super::types::type_named;
use super::{ArithmeticOp, CivilPart, Expression, Function};
use crate::error::{Error, Result};
use crate::sql::predicate::lex::{Language, Token, excerpt};
use crate::sql::predicate::parse::{MAX_DEPTH, Parser, is_reserved, special_number};
use crate::sql::predicate::{ColumnName, CompareOp, LikePattern, Literal};

/// The maximum number of operators: chains of them are as deep as they are long.
const MAX_OPERATORS: usize = 500;
/// The maximum size of an expression that is copied, as for BETWEEN, NULLIF and CASE with a subject: nested copies
/// double in size.
const MAX_COPIED: usize = 10_000;

impl Expression {
    /// Parses SQL text. An `InvalidArgument` error contains the character position and what was expected there.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_as(text, Language::Expression)
    }

    /// Parses a filter, in which the current time is that of the call. Errors are those of [`Expression::parse`].
    pub fn filter(text: &str) -> Result<Self> {
        Ok(Self::parse_as(text, Language::Filter)?.at(now_micros()))
    }

    /// Parses SQL text, which messages name after its purpose.
    fn parse_as(text: &str, language: Language) -> Result<Self> {
        let parser = Parser::new(text, language)?;
        let mut reader = TokenReader { parser, text, operators: 0, cases: 0, casts: 0 };
        let expression = reader.or()?;
        match reader.parser.token {
            Token::End => Ok(expression),
            _ => Err(reader.parser.expected("an operator or the end")),
        }
    }
}

struct TokenReader<'a> {
    parser: Parser<'a>,
    text: &'a str,
    operators: usize,
    /// The numbers of CASE and CAST around the current position, in which some words cannot be names.
    cases: usize,
    casts: usize,
}

impl TokenReader<'_> {
    /// Returns the source text from a byte offset to the current position, for messages. In a chain of operators, the
    /// text of each part includes the preceding parts.
    fn since(&self, start: usize) -> Arc<str> {
        excerpt(self.text.get(start..self.parser.at).unwrap_or_default().trim_end(), 0).into()
    }

    fn operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(self.parser.lexer.error(self.parser.at, format!("more than {MAX_OPERATORS} operators")));
        }
        self.parser.advance().map(|_| ())
    }

    fn or(&mut self) -> Result<Expression> {
        let mut parts = vec![self.and()?];
        while self.parser.take_word("or")? {
            parts.push(self.and()?);
        }
        Ok(one_or(parts, Expression::Or))
    }

    fn and(&mut self) -> Result<Expression> {
        let mut parts = vec![self.not()?];
        while self.parser.take_word("and")? {
            parts.push(self.not()?);
        }
        Ok(one_or(parts, Expression::And))
    }

    fn not(&mut self) -> Result<Expression> {
        self.deeper(|reader| {
            if reader.parser.take_word("not")? {
                return Ok(not(reader.not()?));
            }
            reader.test()
        })
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<Expression>) -> Result<Expression> {
        if self.parser.depth > MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} nested expressions");
            return Err(self.parser.lexer.error(self.parser.at, message));
        }
        self.parser.depth += 1;
        let expression = read(self)?;
        self.parser.depth -= 1;
        Ok(expression)
    }

    fn copied(&self, expression: &Expression) -> Result<Expression> {
        if expression.size() > MAX_COPIED {
            return Err(self.parser.lexer.error(self.parser.at, "the preceding expression is too long"));
        }
        Ok(expression.clone())
    }

    fn test(&mut self) -> Result<Expression> {
        let start = self.parser.at;
        let left = self.sum()?;
        if let Token::Compare(op) = self.parser.token {
            self.parser.advance()?;
            let (left, right) = compared(left, self.sum()?);
            return Ok(Expression::Compare(op, Box::new(left), Box::new(right)));
        }
        if self.parser.token == Token::Same {
            self.parser.advance()?;
            let (left, right) = compared(left, self.sum()?);
            return Ok(not(Expression::Distinct(Box::new(left), Box::new(right))));
        }
        if self.parser.take_word("is")? {
            return self.is(left);
        }
        let negated = self.parser.take_word("not")?;
        let test = if self.parser.take_word("in")? {
            self.parser.require(&Token::Open, "`(` after IN")?;
            let members = self.list()?.into_iter();
            let members = members.map(|member| if is_name(&left) { number_of(member) } else { member }).collect();
            Expression::In(Box::new(left), members)
        } else if self.parser.take_word("between")? {
            let low = self.sum()?;
            if !self.parser.take_word("and")? {
                return Err(self.parser.expected("AND and the upper end of BETWEEN"));
            }
            let high = self.sum()?;
            let (again, low) = compared(self.copied(&left)?, low);
            let (left, high) = compared(left, high);
            Expression::And(vec![
                Expression::Compare(CompareOp::GtEq, Box::new(again), Box::new(low)),
                Expression::Compare(CompareOp::LtEq, Box::new(left), Box::new(high)),
            ])
        } else if self.parser.take_word("like")? {
            Expression::Like(Box::new(left), LikePattern::parse(&self.parser.pattern()?)?)
        } else if self.parser.take_word("ilike")? {
            let pattern = LikePattern::parse(&self.parser.pattern()?.to_lowercase())?;
            let lower = Expression::Call(Function::Lower, vec![left], self.since(start));
            Expression::Like(Box::new(lower), pattern)
        } else if negated {
            return Err(self.parser.expected("IN, BETWEEN, LIKE or ILIKE after NOT"));
        } else {
            return Ok(left);
        };
        Ok(if negated { not(test) } else { test })
    }

    fn is(&mut self, left: Expression) -> Result<Expression> {
        let negated = self.parser.take_word("not")?;
        if self.parser.at_word("distinct") {
            self.parser.advance()?;
            if !self.parser.take_word("from")? {
                return Err(self.parser.expected("FROM after DISTINCT"));
            }
            let (left, right) = compared(left, self.sum()?);
            let test = Expression::Distinct(Box::new(left), Box::new(right));
            return Ok(if negated { not(test) } else { test });
        }
        let left = Box::new(left);
        let same =
            |left, value| not(Expression::Distinct(left, Box::new(Expression::Literal(Literal::Boolean(value)))));
        let test = if self.parser.take_word("null")? {
            Expression::IsNull(left)
        } else if self.parser.take_word("nan")? {
            Expression::IsNan(left)
        } else if self.parser.take_word("true")? {
            same(left, true)
        } else if self.parser.take_word("false")? {
            same(left, false)
        } else {
            return Err(self.parser.expected("NULL, NAN, TRUE, FALSE or DISTINCT FROM after IS"));
        };
        Ok(if negated { not(test) } else { test })
    }

    /// Parses a list in parentheses after the opening one.
    fn list(&mut self) -> Result<Vec<Expression>> {
        let mut found = Vec::new();
        if self.parser.token != Token::Close {
            found.push(self.or()?);
            while self.parser.token == Token::Comma {
                self.parser.advance()?;
                found.push(self.or()?);
            }
        }
        self.parser.require(&Token::Close, "`,` or `)`")?;
        Ok(found)
    }

    fn sum(&mut self) -> Result<Expression> {
        let start = self.parser.at;
        let mut left = self.product()?;
        loop {
            let op = match self.parser.token {
                Token::Plus => Some(ArithmeticOp::Add),
                Token::Minus => Some(ArithmeticOp::Subtract),
                Token::Concat => None,
                _ => return Ok(left),
            };
            self.operator()?;
            if let (Some(op), true) = (op, self.begins_interval()) {
                let interval = self.interval()?;
                let interval = if op == ArithmeticOp::Subtract { interval.negated() } else { interval };
                left = Expression::Call(Function::Plus, interval.added_to(left), self.since(start));
                continue;
            }
            let right = self.product()?;
            left = match op {
                Some(op) => Expression::Arithmetic(op, Box::new(left), Box::new(right), self.since(start)),
                None => Expression::Call(Function::Concat, vec![left, right], self.since(start)),
            };
        }
    }

    /// Returns whether an INTERVAL begins here. The word alone is a name.
    fn begins_interval(&self) -> bool {
        let next = || self.parser.lexer.clone().next();
        self.parser.at_word("interval") && matches!(next(), Ok((Token::Text(_) | Token::Number(_), _)))
    }

    fn interval(&mut self) -> Result<Interval> {
        let start = self.parser.at;
        self.parser.advance()?;
        let mut text = String::new();
        while let Token::Text(number) | Token::Number(number) = self.parser.token.clone() {
            text = format!("{text} {number}");
            self.parser.advance()?;
            if let Token::Word(unit) = self.parser.token.clone()
                && Interval::is_unit(&unit)
            {
                text = format!("{text} {unit}");
                self.parser.advance()?;
            }
        }
        Interval::parse(&text).filter(|_| !self.parser.at_word("to")).ok_or_else(|| {
            self.parser
                .lexer
                .error(start, format!("`{}` is not a supported interval", self.since(start)))
                .hint("write INTERVAL '7' DAY, INTERVAL 1 MONTH, or INTERVAL '1 hour 30 minutes'")
        })
    }

    fn product(&mut self) -> Result<Expression> {
        let start = self.parser.at;
        let mut left = self.sign()?;
        loop {
            let op = match self.parser.token {
                Token::Star => ArithmeticOp::Multiply,
                Token::Slash => ArithmeticOp::Divide,
                Token::Percent => ArithmeticOp::Remainder,
                _ => return Ok(left),
            };
            self.operator()?;
            let right = self.sign()?;
            left = Expression::Arithmetic(op, Box::new(left), Box::new(right), self.since(start));
        }
    }

    /// Parses a sign. Before a number it is part of the number; before any other expression it is a subtraction from
    /// zero.
    fn sign(&mut self) -> Result<Expression> {
        let start = self.parser.at;
        let negative = match self.parser.token {
            Token::Minus => true,
            Token::Plus => false,
            _ => return self.value(),
        };
        self.operator()?;
        let value = self.deeper(Self::sign)?;
        Ok(match value {
            value if !negative => value,
            Expression::Word(_, Literal::Number(digits)) if digits == "nan" => {
                Expression::Literal(Literal::Number(digits))
            }
            Expression::Literal(Literal::Number(digits)) | Expression::Word(_, Literal::Number(digits)) => {
                let digits = digits.strip_prefix('-').map_or_else(|| format!("-{digits}"), str::to_string);
                Expression::Literal(Literal::Number(digits))
            }
            value => {
                let zero = Box::new(Expression::Literal(Literal::Number("0".to_string())));
                Expression::Arithmetic(ArithmeticOp::Subtract, zero, Box::new(value), self.since(start))
            }
        })
    }

    fn value(&mut self) -> Result<Expression> {
        const EXPECTED: &str = "a column, a literal, a function or `(`";
        let start = self.parser.at;
        if let Token::Word(word) = &self.parser.token {
            let lower = word.to_ascii_lowercase();
            if self.is_keyword(&lower) {
                return Err(self.parser.expected(EXPECTED));
            }
            let word = word.clone();
            self.parser.advance()?;
            return self.word(word, &lower, start);
        }
        if !matches!(
            self.parser.token,
            Token::Open | Token::Name(_) | Token::Number(_) | Token::Text(_) | Token::Bytes(_)
        ) {
            return Err(self.parser.expected(EXPECTED));
        }
        Ok(match self.parser.advance()? {
            Token::Name(parts) => Expression::Column(ColumnName(parts)),
            Token::Number(digits) => Expression::Literal(Literal::Number(digits)),
            Token::Text(text) => Expression::Literal(Literal::String(text)),
            Token::Bytes(bytes) => Expression::Literal(Literal::Binary(bytes)),
            _ => {
                let inner = self.or()?;
                self.parser.require(&Token::Close, "an operator or `)`")?;
                inner
            }
        })
    }

    /// Parses an expression that starts with a word, which is already consumed and not a keyword.
    fn word(&mut self, word: String, lower: &str, start: usize) -> Result<Expression> {
        let literal = |literal| Ok(Expression::Literal(literal));
        let typed: Option<fn(String) -> Literal> = match lower {
            "null" => return literal(Literal::Null),
            "true" => return literal(Literal::Boolean(true)),
            "false" => return literal(Literal::Boolean(false)),
            "case" if self.begins_case() => return self.case(),
            "date" => Some(Literal::Date),
            "time" => Some(Literal::Time),
            "timestamp" => Some(Literal::Timestamp),
            _ => None,
        };
        if let (Some(typed), Token::Text(_)) = (typed, &self.parser.token) {
            let Token::Text(text) = self.parser.advance()? else {
                return Err(Error::internal("the current token changed unexpectedly"));
            };
            return literal(typed(text));
        }
        if self.parser.token == Token::Open {
            self.parser.advance()?;
            return self.deeper(|reader| match lower {
                "cast" | "try_cast" => reader.cast(lower == "try_cast", start),
                _ => reader.call(&word, lower, start),
            });
        }
        Ok(match lower {
            "current_timestamp" => Expression::Call(Function::CurrentTimestamp, Vec::new(), self.since(start)),
            "current_date" => Expression::Call(Function::CurrentDate, Vec::new(), self.since(start)),
            _ => match special_number(lower) {
                Some(number) => Expression::Word(ColumnName(vec![word]), Literal::Number(number.to_string())),
                None => Expression::Column(ColumnName(vec![word])),
            },
        })
    }

    /// Returns whether the word `case`, which is already consumed, begins a CASE. Otherwise it is a name.
    fn begins_case(&self) -> bool {
        match &self.parser.token {
            Token::Word(next) => {
                const AFTER_A_NAME: [&str; 8] = ["and", "or", "not", "is", "in", "between", "like", "ilike"];
                let ends_operand = self.is_keyword_here(next) && !next.eq_ignore_ascii_case("when");
                !AFTER_A_NAME.iter().any(|word| next.eq_ignore_ascii_case(word)) && !ends_operand
            }
            Token::Name(_) | Token::Number(_) | Token::Text(_) | Token::Bytes(_) | Token::Open => true,
            _ => false,
        }
    }

    /// Returns whether a word is a keyword that ends an operand. Some words are keywords only inside CASE or CAST.
    fn is_keyword(&self, lower: &str) -> bool {
        (is_reserved(lower) && !["null", "true", "false"].contains(&lower)) || self.is_keyword_here(lower)
    }

    fn is_keyword_here(&self, word: &str) -> bool {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        let ends_case = is("then") || is("else") || is("end");
        (self.cases > 0 && (ends_case || is("when"))) || (self.casts > 0 && is("as"))
    }

    fn case(&mut self) -> Result<Expression> {
        self.cases += 1;
        let found = self.branches();
        self.cases -= 1;
        found
    }

    fn branches(&mut self) -> Result<Expression> {
        let subject = if self.parser.at_word("when") { None } else { Some(self.or()?) };
        let mut branches = Vec::new();
        while self.parser.take_word("when")? {
            let tested = self.or()?;
            let condition = match &subject {
                Some(subject) => Expression::Compare(CompareOp::Eq, Box::new(self.copied(subject)?), Box::new(tested)),
                None => tested,
            };
            if !self.parser.take_word("then")? {
                return Err(self.parser.expected("an operator or THEN"));
            }
            branches.push((condition, self.or()?));
        }
        if branches.is_empty() {
            return Err(self.parser.expected("WHEN"));
        }
        let otherwise = if self.parser.take_word("else")? { Some(Box::new(self.or()?)) } else { None };
        if !self.parser.take_word("end")? {
            return Err(self.parser.expected("WHEN, ELSE or END"));
        }
        Ok(Expression::Case(branches, otherwise))
    }

    fn cast(&mut self, tried: bool, start: usize) -> Result<Expression> {
        self.casts += 1;
        let value = self.or();
        self.casts -= 1;
        let value = value?;
        if !self.parser.take_word("as")? {
            return Err(self.parser.expected("an operator or AS"));
        }
        let at = self.parser.at;
        let Token::Word(name) = self.parser.token.clone() else { return Err(self.parser.expected("a type")) };
        self.parser.advance()?;
        let mut arguments = Vec::new();
        if self.parser.token == Token::Open {
            self.parser.advance()?;
            for argument in self.list()? {
                let Expression::Literal(Literal::Number(digits)) = argument else {
                    return Err(self.parser.lexer.error(at, "the parameters of a type must be numbers"));
                };
                arguments.push(digits);
            }
        }
        let Some(data_type) = type_named(&name.to_ascii_lowercase(), &arguments) else {
            return Err(self
                .parser
                .lexer
                .error(at, format!("`{}` is not a valid type for CAST", self.since(at)))
                .hint(
                    "valid types are boolean, int, long, float, double, decimal(p, s), date, time, timestamp, \
                    timestamptz, timestamp_ns, timestamptz_ns, string, uuid and binary",
                ));
        };
        self.parser.require(&Token::Close, "`)` after the type")?;
        Ok(Expression::Cast(Box::new(value), data_type, tried, self.since(start)))
    }

    fn call(&mut self, name: &str, lower: &str, start: usize) -> Result<Expression> {
        let at = start;
        let mut arguments = self.list()?;
        let text = self.since(start);
        let count = arguments.len();
        let wrong = |expected: &str| Err(self.parser.lexer.error(at, format!("{name} takes {expected}, not {count}")));
        match (lower, arguments.as_mut_slice()) {
            ("if", [condition, value, otherwise]) => {
                let otherwise = Box::new(take(otherwise));
                return Ok(Expression::Case(vec![(take(condition), take(value))], Some(otherwise)));
            }
            ("if", _) => return wrong("three arguments"),
            ("nullif", [value, other]) => {
                let value = take(value);
                let again = Box::new(self.copied(&value)?);
                let same = Expression::Compare(CompareOp::Eq, again, Box::new(take(other)));
                let null = Expression::Literal(Literal::Null);
                return Ok(Expression::Case(vec![(same, null)], Some(Box::new(value))));
            }
            ("nullif", _) => return wrong("two arguments"),
            ("date", [value]) => {
                return Ok(Expression::Cast(Box::new(take(value)), DataType::Date32, false, text));
            }
            ("date", _) => return wrong("one argument"),
            _ => {}
        }
        let Some((function, least, most)) = function_named(lower) else {
            return Err(self.parser.lexer.error(at, format!("no function {name}")));
        };
        if count < least || count > most {
            return wrong(&match (least, most) {
                (least, usize::MAX) => format!("{least} or more arguments"),
                (least, most) if least == most => format!("{least} arguments"),
                (least, most) => format!("{least} to {most} arguments"),
            });
        }
        Ok(Expression::Call(function, arguments, text))
    }
}

/// Returns a function with its minimum and maximum number of arguments.
fn function_named(lower: &str) -> Option<(Function, usize, usize)> {
    Some(match lower {
        "coalesce" | "ifnull" | "nvl" => (Function::Coalesce, 1, usize::MAX),
        "greatest" => (Function::Greatest, 2, usize::MAX),
        "least" => (Function::Least, 2, usize::MAX),
        "abs" => (Function::Abs, 1, 1),
        "round" => (Function::Round, 1, 2),
        "upper" => (Function::Upper, 1, 1),
        "lower" => (Function::Lower, 1, 1),
        "trim" => (Function::Trim, 1, 1),
        "length" => (Function::Length, 1, 1),
        "substring" | "substr" => (Function::Substring, 2, 3),
        "concat" => (Function::Concat, 1, usize::MAX),
        "current_timestamp" => (Function::CurrentTimestamp, 0, 0),
        "current_date" => (Function::CurrentDate, 0, 0),
        "year" => (Function::Part(CivilPart::Year), 1, 1),
        "month" => (Function::Part(CivilPart::Month), 1, 1),
        "day" | "dayofmonth" => (Function::Part(CivilPart::Day), 1, 1),
        "hour" => (Function::Part(CivilPart::Hour), 1, 1),
        "minute" => (Function::Part(CivilPart::Minute), 1, 1),
        "second" => (Function::Part(CivilPart::Second), 1, 1),
        _ => return None,
    })
}

/// Returns the sides of a comparison, in which `nan` and `inf` are numbers if they are compared with a name.
fn compared(left: Expression, right: Expression) -> (Expression, Expression) {
    match (is_name(&left), is_name(&right)) {
        (true, _) if matches!((&left, &right), (Expression::Word(..), Expression::Column(_))) => {
            (number_of(left), right)
        }
        (true, true) => (left, number_of(right)),
        _ => (left, right),
    }
}

fn is_name(expression: &Expression) -> bool {
    matches!(expression, Expression::Column(_) | Expression::Word(..))
}

fn number_of(expression: Expression) -> Expression {
    match expression {
        Expression::Word(_, literal) => Expression::Literal(literal),
        other => other,
    }
}

fn take(expression: &mut Expression) -> Expression {
    std::mem::replace(expression, Expression::Literal(Literal::Null))
}

fn not(inner: Expression) -> Expression {
    Expression::Not(Box::new(inner))
}

fn one_or(mut parts: Vec<Expression>, make: fn(Vec<Expression>) -> Expression) -> Expression {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            make(parts)
        }
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
