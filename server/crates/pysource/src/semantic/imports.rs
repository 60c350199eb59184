//! The names that imports bind.

use std::collections::HashMap;

use ruff_python_ast::{Expr, ExprName, Identifier, Stmt};
use ruff_text_size::TextRange;

use crate::values::name_and_attributes;

/// A name that an import binds.
pub(crate) struct Imported<'a> {
    /// The name; `*` stands for all names of a module.
    pub(crate) name: &'a str,
    /// What it stands for, with dots; one more in front for each level of a relative import.
    pub(crate) path: String,
    /// Whether the path begins where the file is, not with a package.
    pub(crate) is_relative: bool,
    /// Where the import says so.
    pub(crate) range: TextRange,
}

impl Imported<'_> {
    /// The last part of the path: what the name is called where it comes from.
    pub(crate) fn last_name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or(&self.path)
    }
}

/// The names that a statement imports, in their order; none for any other statement.
pub(crate) fn imported(stmt: &Stmt) -> Vec<Imported<'_>> {
    match stmt {
        Stmt::Import(it) => {
            let names = it.names.iter().map(|alias| {
                let path = alias.name.as_str();
                // `import torch.nn` binds `torch`.
                let first = path.split('.').next().unwrap_or(path);
                let (name, path) =
                    alias.asname.as_ref().map_or((first, first), |it| (it.as_str(), path));
                Imported { name, path: path.to_owned(), is_relative: false, range: alias.range }
            });
            names.collect()
        }
        Stmt::ImportFrom(it) => {
            let module = it.module.as_ref().map_or("", Identifier::as_str);
            let dots = ".".repeat(it.level as usize);
            let names = it.names.iter().map(|alias| Imported {
                name: alias.asname.as_ref().unwrap_or(&alias.name).as_str(),
                path: format!("{dots}{module}.{}", alias.name),
                is_relative: it.level > 0,
                range: alias.range,
            });
            names.collect()
        }
        _ => Vec::new(),
    }
}

/// What names were imported as.
#[derive(Default)]
pub(crate) struct Imports<'a>(HashMap<&'a str, String>);

impl<'a> Imports<'a> {
    /// Notes an import. Whether the name was not imported as something else before is returned.
    pub(crate) fn add(&mut self, it: Imported<'a>) -> bool {
        let before = self.0.insert(it.name, it.path);
        before.is_none_or(|before| self.0.get(it.name) == Some(&before))
    }

    /// The path of a name.
    pub(crate) fn of_name(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The paths of all names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// The imported path that a name with attributes stands for: `torch.nn.functional.relu`; with the name.
    pub(crate) fn path<'e>(&self, expr: &'e Expr) -> Option<(&'e ExprName, String)> {
        let (name, attributes) = name_and_attributes(expr)?;
        let mut path = self.0.get(name.id.as_str())?.clone();
        for attribute in attributes.into_iter().rev() {
            path.push('.');
            path.push_str(attribute);
        }
        Some((name, path))
    }
}
