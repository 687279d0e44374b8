//! Prints expressions as SQL text that parses to the same expression.

use std::fmt::{self, Display, Formatter};

use super::interval::Interval;
use super::types::name_of;
use super::{ArithmeticOp, CivilPart, Expression, Function};
use crate::scalar::print::write_text;
use crate::sql::predicate::ColumnName;

/// An expression as SQL; the function returns the text of each column name.
pub struct Printed<'a>(pub &'a Expression, pub &'a dyn Fn(&ColumnName) -> String);

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printed(self, &ToString::to_string).fmt(f)
    }
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use Expression as E;
        match self.0 {
            E::Literal(literal) | E::Word(_, literal) => literal.fmt(f),
            E::Column(name) => f.write_str(&(self.1)(name)),
            E::Arithmetic(op, left, right, _) => self.chain(f, left, (op.symbol(), op.is_product()), right),
            E::Compare(op, left, right) => self.pair(f, left, op.symbol(), right),
            E::Distinct(left, right) => self.pair(f, left, "IS DISTINCT FROM", right),
            E::And(parts) if parts.is_empty() => f.write_str("true"),
            E::Or(parts) if parts.is_empty() => f.write_str("false"),
            E::And(parts) => self.joined(f, parts, " AND "),
            E::Or(parts) => self.joined(f, parts, " OR "),
            E::Not(inner) => match &**inner {
                E::Distinct(left, right) => self.pair(f, left, "IS NOT DISTINCT FROM", right),
                E::IsNull(_) | E::IsNan(_) | E::In(..) | E::Like(..) => self.test(f, inner, "NOT "),
                _ => f.write_str("NOT ").and_then(|()| self.operand(f, inner)),
            },
            E::IsNull(_) | E::IsNan(_) | E::In(..) | E::Like(..) => self.test(f, self.0, ""),
            E::Case(branches, otherwise) => {
                f.write_str("CASE")?;
                for (condition, value) in branches {
                    write!(f, " WHEN {} THEN {}", self.of(condition), self.of(value))?;
                }
                if let Some(otherwise) = otherwise {
                    write!(f, " ELSE {}", self.of(otherwise))?;
                }
                f.write_str(" END")
            }
            E::Cast(value, data_type, tried, _) => {
                let name = if *tried { "TRY_CAST" } else { "CAST" };
                write!(f, "{name}({} AS {})", self.of(value), name_of(data_type))
            }
            E::Call(function, arguments, _) => {
                if let (Function::Concat, [left, right]) = (function, arguments.as_slice()) {
                    return self.chain(f, left, ("||", false), right);
                }
                if let (Function::Plus, [value, parts @ ..]) = (function, arguments.as_slice()) {
                    let interval = Interval::of(parts).ok_or(fmt::Error)?;
                    match value {
                        E::Call(Function::Plus, ..) => self.of(value).fmt(f)?,
                        _ => self.operand(f, value)?,
                    }
                    return write!(f, " + {interval}");
                }
                f.write_str(function.name())?;
                f.write_str("(")?;
                self.list(f, arguments)?;
                f.write_str(")")
            }
        }
    }
}

impl<'a> Printed<'a> {
    fn of(&self, part: &'a Expression) -> Self {
        Self(part, self.1)
    }

    /// Writes a test of a value, whose negation is written in its middle.
    fn test(&self, f: &mut Formatter<'_>, test: &'a Expression, not: &str) -> fmt::Result {
        match test {
            Expression::IsNull(value) => {
                self.operand(f, value)?;
                write!(f, " IS {not}NULL")
            }
            Expression::IsNan(value) => {
                self.operand(f, value)?;
                write!(f, " IS {not}NAN")
            }
            Expression::In(value, members) => {
                self.operand(f, value)?;
                write!(f, " {not}IN (")?;
                self.list(f, members)?;
                f.write_str(")")
            }
            Expression::Like(value, pattern) => {
                self.operand(f, value)?;
                write!(f, " {not}LIKE ")?;
                write_text(f, &pattern.text)
            }
            other => self.of(other).fmt(f),
        }
    }

    /// Writes an operand, in parentheses unless it is one token or ends with a parenthesis or END.
    fn operand(&self, f: &mut Formatter<'_>, part: &'a Expression) -> fmt::Result {
        use Expression as E;
        let is_closed = match part {
            E::Literal(_) | E::Column(_) | E::Word(..) | E::Case(..) | E::Cast(..) => true,
            E::Call(Function::Plus, ..) => false,
            E::Call(function, arguments, _) => *function != Function::Concat || arguments.len() != 2,
            _ => false,
        };
        if is_closed { self.of(part).fmt(f) } else { write!(f, "({})", self.of(part)) }
    }

    /// Writes an arithmetic operator. A left operand that binds at least as tightly needs no parentheses, which keeps long
    /// chains flat.
    fn chain(
        &self,
        f: &mut Formatter<'_>,
        left: &'a Expression,
        (symbol, is_product): (&str, bool),
        right: &'a Expression,
    ) -> fmt::Result {
        let is_flat = match left {
            Expression::Arithmetic(op, ..) => op.is_product() || !is_product,
            Expression::Call(Function::Concat, parts, _) => parts.len() == 2 && !is_product,
            _ => false,
        };
        if !is_flat {
            return self.pair(f, left, symbol, right);
        }
        write!(f, "{} {symbol} ", self.of(left))?;
        self.operand(f, right)
    }

    fn pair(&self, f: &mut Formatter<'_>, left: &'a Expression, between: &str, right: &'a Expression) -> fmt::Result {
        self.operand(f, left)?;
        write!(f, " {between} ")?;
        self.operand(f, right)
    }

    fn joined(&self, f: &mut Formatter<'_>, parts: &'a [Expression], between: &str) -> fmt::Result {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                f.write_str(between)?;
            }
            // Connectives bind less tightly than tests.
            match part {
                Expression::And(_) | Expression::Or(_) => write!(f, "({})", self.of(part))?,
                _ => self.of(part).fmt(f)?,
            }
        }
        Ok(())
    }

    fn list(&self, f: &mut Formatter<'_>, parts: &'a [Expression]) -> fmt::Result {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            self.of(part).fmt(f)?;
        }
        Ok(())
    }
}

impl ArithmeticOp {
    /// Returns whether the operator binds more tightly than `+`.
    fn is_product(self) -> bool {
        matches!(self, Self::Multiply | Self::Divide | Self::Remainder)
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Self::Coalesce => "coalesce",
            Self::Greatest => "greatest",
            Self::Least => "least",
            Self::Abs => "abs",
            Self::Round => "round",
            Self::Upper => "upper",
            Self::Lower => "lower",
            Self::Trim => "trim",
            Self::Length => "length",
            Self::Substring => "substring",
            Self::Concat => "concat",
            Self::CurrentTimestamp => "current_timestamp",
            Self::CurrentDate => "current_date",
            Self::Part(CivilPart::Year) => "year",
            Self::Part(CivilPart::Month) => "month",
            Self::Part(CivilPart::Day) => "day",
            Self::Part(CivilPart::Hour) => "hour",
            Self::Part(CivilPart::Minute) => "minute",
            Self::Part(CivilPart::Second) => "second",
            Self::Plus => "plus",
        }
    }
}
