use super::*;

/// Returns the first and last line, 1-based, of the function around a line.
fn around(code: &str, line: usize) -> Option<(usize, usize)> {
    let lines: Vec<_> = code.lines().map(str::to_owned).collect();
    let shapes: Vec<_> = code.lines().map(Indentation::of).collect();
    let range = Source { lines: &lines, shapes: &shapes }.function(line - 1, true);
    range.map(|range| (range.start + 1, range.end))
}

/// Checks that every line of `expected` is in that function, and that no function is around the lines of `outside`.
fn check(code: &str, expected: &[(usize, usize)], outside: &[usize]) {
    for &(first, last) in expected {
        for line in first..=last {
            let inner = expected.iter().filter(|it| it.0 <= line && line <= it.1).min_by_key(|it| it.1 - it.0);
            assert_eq!(around(code, line).as_ref(), inner, "line {line} of\n{code}");
        }
    }
    for &line in outside {
        assert_eq!(around(code, line), None, "line {line} of\n{code}");
    }
}

#[test]
fn rust() {
    let code = "\
use a;

impl A {
    const B: u8 = 1;

    /// Does it.
    #[inline]
    pub(crate) async fn f<T>(
        &mut self,
        x: T,
    ) -> Result<T>
    where
        T: Clone,
    {
        if let Some(y) = x.get(1) {
            match y {
                Some(z) => {
                    call(|| {
                        z
                    });
                }
            }
        }
    }

    fn g(&self) -> u8 {
        fn inner(x: u8) -> u8 {
            x
        }
        inner(1)
    }
}
";
    check(code, &[(6, 24), (26, 31), (27, 29)], &[1, 3, 4]);
    check("trait T {\n    fn f(&self);\n    fn g(&self) {\n        1\n    }\n}\n", &[(3, 5)], &[1, 2]);
}

#[test]
fn python() {
    let code = "\
import a
x = f(1)

@decorated(1)
# About f.
def f(
    a,
    b=1,
):
    if a:
        try:
            g()
        except E:
            pass

#at the margin
    return a


class C(Base):
    y = 1

    async def lock(self, a,
                b):
        with open(a) as f:
            return f

    def n(self): return 1

# About nothing.
print(x)
";
    check(code, &[(4, 17), (23, 26)], &[1, 2, 20, 21, 31]);
}

#[test]
fn c() {
    let code = "\
#include <a.h>
static int x;

/* Adds. */
static int
add(int a,
    int b)
{
    if (a > b) {
        goto out;
    }
#ifdef DEBUG
    log(a);
#endif
out:
    return a + b;
}

struct s {
    int a;
};

A::A(int a)
    : b(a) {
    for (;;) {
        f(a);
    }
}
";
    check(code, &[(4, 17), (23, 28)], &[1, 2, 19, 20]);
}

#[test]
fn languages_with_braces() {
    let script = "\
import a from 'a';

export default async function f({
  a,
  b,
}) {
  useEffect(() => {
    g();
  });
  return a;
}

const h = (x) => {
  if (x) {
    return 1;
  } else {
    return 2;
  }
};

class C {
  m(a) {
    return a;
  }
}

describe('x', () => {
  one();
});
";
    check(script, &[(3, 11), (13, 19), (22, 24)], &[1, 21, 28]);
    let java =
        "class A {\n    @Override\n    public List<B> f(int a) throws C {\n        new D() {\n        };\n    }\n}\n";
    check(java, &[(2, 6)], &[1]);
    let go = "package a\n\n// F does.\nfunc (r *R) F(a int) error {\n\tgo func() {\n\t\tx()\n\t}()\n\tswitch a {\n\tcase 1:\n\t\ty()\n\t}\n\treturn nil\n}\n";
    check(go, &[(3, 13)], &[1]);
    let shell = "set -e\nf() {\n  if x; then\n    y\n  fi\n}\nf\n";
    check(shell, &[(2, 6)], &[1, 7]);
}

#[test]
fn languages_with_end() {
    let ruby = "class A\n  def f(a)\n    if a\n      b\n    end\n  end\n\n  def g\n    c.each do |d|\n      e\n    end\n  end\nend\n";
    check(ruby, &[(2, 6), (8, 12)], &[1]);
    let lua = "local x = 1\nlocal function f(a)\n  return a\nend\nx = 2\n";
    check(lua, &[(2, 4)], &[1, 5]);
}

#[test]
fn no_function() {
    for code in ["", "\n", "a\n", "}\n", ")\n  x\n", "fn\n", "{\n  {\n    (\n"] {
        for line in 1..=code.lines().count() {
            assert_eq!(around(code, line), None, "{code:?} {line}");
        }
    }
    assert_eq!(around("a\n", 7), None);
}
