// What is found defined in a file of each language, on which lines. One sample a language; the expectation is written as `kind name from-to`.
import { expect, test } from 'vitest'
import { languageForExtension } from '../../../../../src/handoff/sandbox/program/survey/languages.js'
import { findDefinitions } from '../../../../../src/handoff/sandbox/program/survey/outline.js'
import { createIdentifierScanner } from '../../../../../src/handoff/sandbox/program/survey/scan-identifiers.js'
import { processorTime } from '../../../../support/processor-time.js'
import { surveyOf, textOf } from './survey-repository.js'

const scan = createIdentifierScanner()

function outlineOf(ending: string, text: string): string[] {
  const bytes = Buffer.from(text)
  const { definitions } = findDefinitions(
    bytes.toString('latin1'),
    scan(bytes, false),
    languageForExtension(ending)!.grammar,
  )
  return definitions.map(({ kind, name, line, end }) => `${kind} ${name} ${line}${end === undefined ? '' : `-${end}`}`)
}

const samples: [ending: string, text: string, expected: string[]][] = [
  [
    'ts',
    `export default class Größe<T> extends Base {
  private size = 1
  constructor(readonly x: number) {
    super()
  }
  static async load(path: string): Promise<Größe> {
    if (path) {
      return new Größe(1)
    }
    it('is not a method', () => {
    })
  }
}
export interface Shape { x: number }
export type Kind = 'a' | 'b'
export const enum Color {
  Red,
}
const helper = (a: number) => {
  return a
}
export async function* walk(
  a: string,
): AsyncGenerator<string> {
  function inner() {
  }
}
declare namespace Deep {
}
module.exports.late = 1
`,
    [
      'class Größe 1-13',
      'method constructor 3-5',
      'method load 6-12',
      'interface Shape 14-14',
      'type Kind 15',
      'enum Color 16-18',
      'constant helper 19-21',
      'function walk 22-27',
      'function inner 25-26',
      'namespace Deep 28-29',
      'export late 30',
    ],
  ],
  [
    'py',
    `LIMIT: int = 5

class A(B):
    x = 1

    async def go(
        self,
    ) -> None:
        pass

    # a comment
    def stop(self): return 1

def free():
    return 2
`,
    ['constant LIMIT 1-1', 'class A 3-12', 'method go 6-9', 'method stop 12-12', 'function free 14-15'],
  ],
  [
    'go',
    `package a

const (
	First Kind = iota
	Second
)

type Server struct {
	name string
}

func (s *Server) Run(ctx context.Context) error {
	return nil
}

func main() { run() }

var ErrGone = errors.New("gone")
`,
    ['constant First 4', 'type Server 8-10', 'method Run 12-14', 'function main 16-16', 'variable ErrGone 18'],
  ],
  [
    'rs',
    `pub(crate) struct A {
    x: u8,
}
impl A {
    pub async fn go(&self) -> u8 {
        1
    }
}
pub trait T: Send {}
pub const MAX: usize = 3;
macro_rules! twice {
    () => {};
}
mod inner;
`,
    ['struct A 1-3', 'method go 5-7', 'trait T 9-9', 'constant MAX 10-10', 'macro twice 11-13', 'module inner 14-14'],
  ],
  [
    'java',
    `package a;
public final class A extends B {
    private static final int N = 1;
    @Override
    public List<String> names(int a) {
        return null;
    }
    enum E { X }
}
`,
    ['class A 2-9', 'method names 5-7', 'enum E 8-8'],
  ],
  [
    'kt',
    `data class P(val x: Int)\nfun String.shout(): String {\n  return this\n}\nobject One {\n  override fun go() = 1\n}\n`,
    ['class P 1', 'function shout 2-4', 'object One 5-7', 'method go 6'],
  ],
  [
    'scala',
    `sealed trait A\ncase class B(x: Int) extends A {\n  def go = {\n  }\n}\n`,
    ['trait A 1', 'class B 2-5', 'method go 3-4'],
  ],
  [
    'cs',
    `namespace N.M
{
    public partial class A : B
    {
        public async Task<int> Go(int a)
        {
            return 1;
        }
        public int Size { get; set; }
    }
    record R(int X);
}
`,
    ['namespace N.M 1-12', 'class A 3-10', 'method Go 5-8', 'method Size 9-9', 'record R 11-11'],
  ],
  [
    'cpp',
    `#ifndef A_H
#define A_H
#define MAX 3
template <class T>
class Box : public Base {
 public:
  int x;
};
static int add(int a,
               int b)
{
  return a + b;
}
void Box::fill() {
}
typedef struct {
  int y;
} point;
int declared(int);
`,
    ['macro MAX 3', 'class Box 5-8', 'function add 9-13', 'function Box::fill 14-15', 'type point 18-18'],
  ],
  ['m', `@interface A : NSObject\n- (void)go:(int)x;\n@end\n`, ['interface A 1', 'method go 2-2']],
  [
    'rb',
    `module M
  LIMIT = 3
  class A < B
    def self.make(x)
      x
    end
    def ok?
    end
  end
end
`,
    ['module M 1-10', 'constant LIMIT 2', 'class A 3-9', 'method make 4-6', 'method ok? 7-8'],
  ],
  [
    'php',
    `<?php\nabstract class A {\n    public static function go(int $x): int {\n        return 1;\n    }\n}\nfunction free() {}\n`,
    ['class A 2-6', 'method go 3-5', 'function free 7-7'],
  ],
  [
    'swift',
    `public final class A: B {\n    override func go() {\n    }\n}\nextension A {}\n`,
    ['class A 1-4', 'method go 2-3', 'extension A 5-5'],
  ],
  ['dart', `class A extends B {\n  Future<int> go(int x) async {\n  }\n}\n`, ['class A 1-4', 'method go 2-3']],
  ['sh', `go() {\n  :\n}\nfunction other {\n  :\n}\n`, ['function go 1-3', 'function other 4-6']],
  ['ps1', `Function Get-It {\n}\n`, ['function Get-It 1-2']],
  ['lua', `local function a()\nend\nfunction M.b()\n  if x then\n  end\nend\n`, ['function a 1-2', 'function M.b 3-6']],
  [
    'ex',
    `defmodule A.B do\n  def go(1) do\n  end\n  def go(2), do: 1\n  defp no do\n  end\nend\n`,
    ['module A.B 1-7', 'function go 2-3', 'function no 5-6'],
  ],
  [
    'erl',
    `-module(a).\n-record(r, {x}).\ngo(1) -> 1;\ngo(X) when X > 1 -> 2.\n`,
    ['module a 1', 'record r 2', 'function go 3'],
  ],
  ['hs', `module A where\ndata T = X\ngo :: Int -> Int\ngo = id\n`, ['module A 1-1', 'data T 2-2', 'function go 3-3']],
  ['ml', `module M = struct\n  let rec go x = 1\nend\ntype 'a t = int\n`, ['module M 1', 'variable go 2', 'type t 4']],
  ['clj', `(ns a.b)\n(defn- go [x] 1)\n(def ^:private y 2)\n`, ['ns a.b 1', 'function go 2', 'function y 3']],
  ['el', `(defun go (x) 1)\n(define (other x) 2)\n`, ['function go 1', 'macro other 2']],
  ['pl', `package A::B;\nsub go {\n}\n`, ['package A::B 1-1', 'function go 2-3']],
  ['r', `go <- function(x) {\n}\n`, ['function go 1-2']],
  [
    'jl',
    `function go(x)\nend\nshort(x) = 1\nmutable struct S\nend\n`,
    ['function go 1-2', 'function short 3', 'mutable struct S 4-5'],
  ],
  ['zig', `pub fn go() void {\n}\npub const X = struct {\n};\n`, ['function go 1-2', 'constant X 3-4']],
  ['nim', `proc go(x: int) =\n  echo x\n\ntype Other = int\n`, ['function go 1-2', 'type Other 4-4']],
  [
    'sol',
    `contract A {\n    event E(uint x);\n    function go() public {\n    }\n}\n`,
    ['contract A 1-5', 'event E 2-2', 'method go 3-4'],
  ],
  [
    'sql',
    `CREATE TABLE IF NOT EXISTS "users" (\n);\ncreate or replace function app.go() returns int;\n`,
    ['table users 1', 'function app.go 3'],
  ],
  [
    'proto',
    `message A {\n  string x = 1;\n}\nservice S {\n  rpc Go(A) returns (A);\n}\n`,
    ['message A 1-3', 'service S 4-6', 'rpc Go 5-5'],
  ],
  ['graphql', `type A {\n  x: Int\n}\nenum E { X }\n`, ['type A 1-3', 'enum E 4-4']],
  ['tf', `resource "aws_x" "main" {\n}\nvariable "region" {}\n`, ['resource main 1-2', 'variable region 3-3']],
  ['f90', `subroutine go(x)\nend subroutine\npure function f(x)\nend function\n`, ['function go 1', 'function f 3']],
  ['pas', `unit A;\nprocedure TForm.Go;\n`, ['unit A 1', 'function TForm.Go 2']],
  ['vhd', `entity a is\nend;\narchitecture rtl of a is\n`, ['entity a 1', 'architecture rtl 3']],
  ['v', `module top #(parameter N = 1) (\n);\nendmodule\n`, ['module top 1']],
  ['gd', `extends Node\nfunc go():\n\tpass\nsignal done\n`, ['function go 2-3', 'signal done 4-4']],
  ['vb', `Public Class A\n  Private Sub Go()\n  End Sub\nEnd Class\n`, ['class A 1', 'function Go 2']],
  [
    'md',
    '# One\ntext\n## Two\n```sh\n# no heading\n```\n### Three\n## Four\n',
    ['heading One 1-8', 'heading Two 3-7', 'heading Three 7-7', 'heading Four 8-8'],
  ],
  ['rst', 'Title\n=====\n\ntext\n\nPart\n----\n\nmore\n', ['heading Title 1-5', 'heading Part 6-9']],
  ['adoc', '= One\n== Two\n', ['heading One 1-2', 'heading Two 2-2']],
  ['mk', 'all: build\nX := 1\nbuild:\n\tgo\n', ['target all 1', 'target build 3']],
]

test.each(samples)('definitions in .%s', (ending, text, expected) => {
  expect(outlineOf(ending, text)).toEqual(expected)
})

test('line ends and encodings do not move lines', () => {
  const [, text, expected] = samples[0]!
  expect(outlineOf('ts', text.replaceAll('\n', '\r\n'))).toEqual(expected)
})

test('no text makes the outline slow', () => {
  const hostile = [
    `${'function a('.repeat(60_000)}`,
    `function a() {\n${'  function b() {\n'.repeat(40_000)}`,
    `${' '.repeat(700_000)}x`,
    `export default class ${'A'.repeat(700_000)}`,
    `${'public static '.repeat(50_000)}x`,
    `const x = ${'(('.repeat(300_000)}`,
    '\n'.repeat(700_000),
    `#${'# '.repeat(300_000)}`,
  ]
  for (const ending of ['ts', 'py', 'java', 'cs', 'cpp', 'md', 'rs', 'kt', 'swift', 'rst', 'go']) {
    for (const text of hostile) {
      const time = processorTime(() => expect(outlineOf(ending, text).length).toBeLessThanOrEqual(2_000))
      expect(time, `${ending}: ${text.slice(0, 30)}`).toBeLessThan(3_000)
    }
  }
})

test('signatures carry the numbers of their lines', async () => {
  const body = '  // a line that says little and takes its room\n'.repeat(40)
  const many = Array.from({ length: 30 }, (_, index) => `export function step${index}(a: string) {\n${body}}\n`).join(
    '',
  )
  const result = await surveyOf(
    { 'src/many.ts': many, 'src/more.ts': many.replaceAll('step', 'turn') },
    { textBytes: 9_000 },
  )
  const text = textOf(result, 'src/many.ts')!
  expect(text.form).toBe('signatures')
  const lines = many.split('\n')
  const shown = text.text.trimEnd().split('\n')
  expect(shown.length).toBeGreaterThan(10)
  for (const line of shown) {
    const [, number, rest] = /^(\d+)\| (.*)$/.exec(line)!
    expect(rest).toBe(lines[Number(number) - 1])
  }
})

test('a definition ends with a file without a last line end, whatever file came before', () => {
  outlineOf('py', '\n'.repeat(50))
  expect(outlineOf('py', 'def load():\n    return 1')).toEqual(['function load 1-2'])
})
