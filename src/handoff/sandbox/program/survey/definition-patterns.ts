// How definitions look, one expression per language. Every alternative begins with the line end before it, so that the engine skips from line to line.
// It captures a pair: the keyword (empty if there is none) and the name. All repetitions have bounds, so no file can make them slow. The text has one
// character per byte.
//
// These are not parsers: a definition inside a comment or a string counts, and an unusual form is missed.

export interface Grammar {
  pattern: RegExp
  /** The same pattern, at the beginning of a text only. */
  first: RegExp
  /** How a definition ends: at a closing bracket, before the next line with less indentation, at `end`, before the next heading. */
  ends: 'bracket' | 'indent' | 'end' | 'heading' | 'unknown'
  /** The kind of a definition without a keyword. */
  bare: string
  /** Indented functions are methods. */
  methods: boolean
  /** Blocks in which each line is a definition. The pattern has an alternative without a name, which matches the beginning of a block. */
  groups?: { close: string; member: RegExp }
}

const identifierPattern = '[A-Za-z_$\\x80-\\xff][\\w$\\x80-\\xff]*'

/** Up to `most` of the words, each with the space after it. */
const optionalWords = (words: string, most: number) => `(?:(?:${words})[ \\t]+){0,${most}}`

function createGrammar(
  ends: Grammar['ends'],
  bare: string,
  alternatives: string[],
  options: { methods?: boolean; flags?: string; groups?: Grammar['groups'] } = {},
): Grammar {
  const source = alternatives
    .map(
      (alternative) =>
        `\\n${alternative.replaceAll('§', identifierPattern).replaceAll('%', '[ \\t]*').replaceAll('~', '[ \\t]+')}`,
    )
    .join('|')
  const { flags = '', methods: withMethods = false, groups } = options
  const pattern = new RegExp(source, `g${flags}`)
  const first = new RegExp(source, `y${flags}`)
  return { pattern, first, ends, bare, methods: withMethods, ...(groups ? { groups } : {}) }
}

const methods = { methods: true }
const ignoreCase = { flags: 'i' }
const modifiers = 'public|private|protected|internal|static|final|abstract|sealed'
/** The beginning of a function expression in JavaScript. */
const functionValue = '(?:async~)?(?:function\\b|class\\b|(?:\\([^)\\n]{0,200}\\)(?:%:[^\\n={]{1,100})?|§)%=>)'
/** What follows the arrow in the type of a property, but not in its value. */
const typeNames = '(?:void|boolean|string|number|unknown|never|any|undefined|null|Promise<)'
/** The beginning of a statement that looks like a type and a name. */
const statementStart =
  '(?:return|throw|new|else|case|assert|await|yield|using|lock|goto|package|import|do|in|is|select|where|from)\\b'

/** Methods and properties of JavaScript. Most lines have no name with one of these signs behind it, and are excluded at once. */
const member = `(?=[ \\t]{1,16}${optionalWords('public|private|protected|static|async|override|readonly|abstract|declare|get|set', 4)}[*#]?§[?!]?%[(<:=])(?:${[
  `[ \\t]{1,8}${optionalWords('public|private|protected|static|async|override|readonly|abstract|get|set', 4)}()[*#]?(§)%(?:<[^>\\n]{0,80}>)?\\((?![^\\n]{0,200}\\bfunction\\b)[^\\n]{0,200}\\)(?:%:[^\\n=]{1,100}?)?%\\{%\\r?(?=\\n)`,
  // A head with parameters on lines of their own.
  `[ \\t]{1,8}${optionalWords('public|private|protected|static|async|override|abstract', 4)}()[*#]?(§)%(?:<[^>\\n]{0,80}>)?\\(%\\r?(?=\\n)`,
  `[ \\t]{1,8}${optionalWords('public|private|protected|static|async|override|get|set', 4)}()[*#]?(§)%\\([^\\n(){}]{0,200}\\)(?:%:[^\\n={}()]{1,100})?%\\{[^\\n{}]{0,200}\\}%[,;]?%\\r?(?=\\n)`,
  // handle = async (request) => {
  `[ \\t]{1,8}${optionalWords('public|private|protected|static|override|readonly|declare', 4)}()#?(§)[?!]?(?:%:[^\\n=]{1,100})?%=%${functionValue}`,
  // handle: (request) => …
  `[ \\t]{1,16}()(§)%:%${functionValue}(?!%${typeNames})(?=[^\\n]{0,300}[,({[]%\\r?\\n)`,
].join('|')})`

/** In a template, `~` is space, `%` is optional space, and `§` is an identifier. */
const grammars: Record<string, Grammar> = {
  javascript: createGrammar('bracket', 'method', [
    '[ \\t]{0,8}(?:export~)?(?:default~)?(?:declare~)?(?:abstract~)?(?:async~)?(?:const~(?=enum))?(function|class|interface|enum|namespace)\\b[ \\t*]*(?!(?:extends|implements)\\b)(§)',
    '(?:export~)?(?:declare~)?(type|const|let|var)~(§)',
    member,
    // app.use = app.all = function
    `[ \\t]{0,8}(?!(?:module\\.)?exports\\.)(?:§\\.){1,6}()(§)%=%(?:(?:§\\.){1,6}§%=%){0,3}(?:${functionValue}|(?=\\r?\\n%(?:§\\.){1,6}§%=%(?:async~)?function\\b))`,
    '(?:module\\.)?(exports)\\.(§)%=',
  ]),
  python: createGrammar(
    'indent',
    'constant',
    ['%(?:async~)?(def|class)~(§)', '()([A-Z][A-Z0-9_]{2,})%(?::[^=\\n]{1,80})?=(?!=)'],
    methods,
  ),
  go: createGrammar(
    'bracket',
    'constant',
    [
      '(func)~(?:\\([^)\\n]{0,200}\\)%)?(§)',
      '(type|var|const)~(§)',
      '\\t()([A-Z]\\w*)(?:~[\\w.*\\[\\]]+)?%=[ \\t]',
      'type%\\(',
    ],
    { groups: { close: '\n)', member: /\n\t([A-Za-z_]\w*)[[ \t]/g } },
  ),
  rust: createGrammar(
    'bracket',
    'function',
    [
      `%(?:pub(?:\\([^)\\n]{1,40}\\))?~)?${optionalWords('default|const|async|unsafe|extern(?:~"[^"\\n]{0,20}")?', 4)}(fn|struct|enum|trait|union|type|mod|static|module|macro_rules!)~(?:mut~)?(§)`,
      '(?:pub(?:\\([^)\\n]{1,40}\\))?~)?(const)~(§)',
    ],
    methods,
  ),
  java: createGrammar(
    'bracket',
    'method',
    [
      `%${optionalWords(`${modifiers}|non-sealed|strictfp|default`, 5)}(class|interface|enum|record|@interface|trait)~(§)`,
      `[ \\t]{1,12}(?:(?:${modifiers}|synchronized|native|default|def|<[^>\\n]{1,60}>)[ \\t]+){1,6}(?:[\\w<>\\[\\],.?&][\\w<>\\[\\],.?& \\t]{0,80}[ \\t])?()(§)%\\(`,
      // Without a modifier: a statement is excluded, and so is a name with a body.
      `[ \\t]{1,12}(?!${statementStart})(?:<[^>\\n]{1,60}>[ \\t]+)?[A-Za-z_][\\w<>\\[\\],.?& \\t]{0,80}[ \\t]()(§)%\\(`,
      '[ \\t]{1,12}()([A-Z]\\w*[a-z]\\w*)%\\([^;\\n]{0,200}\\{%\\r?(?=\\n)',
    ],
    methods,
  ),
  kotlin: createGrammar(
    'bracket',
    'function',
    [
      `%${optionalWords(`${modifiers}|open|data|inner|inline|suspend|override|operator|infix|tailrec|external|companion|value|annotation|expect|actual|enum|fun`, 6)}(class|interface|object|fun|typealias)~(?:<[^>\\n]{0,80}>%)?(?:[\\w.<>?]{1,60}\\.)?(§)`,
      `${optionalWords('public|private|internal|const', 3)}(val|var)~(§)`,
    ],
    methods,
  ),
  scala: createGrammar(
    'bracket',
    'function',
    [
      `%${optionalWords('private(?:\\[\\w+\\])?|protected(?:\\[\\w+\\])?|implicit|lazy|final|sealed|abstract|override|case|inline|opaque', 5)}(class|object|trait|def|type|enum|given)~(§)`,
    ],
    methods,
  ),
  clojure: createGrammar('unknown', 'function', [
    '%\\((ns|def|defn-?|defmacro|defmulti|defmethod|defprotocol|defrecord|deftype|defonce)~(?:\\^\\S{1,80}[ \\t]+)?([^\\s()\\[\\]]{1,100})',
  ]),
  csharp: createGrammar(
    'bracket',
    'method',
    [
      `%${optionalWords(`${modifiers}|partial|readonly|unsafe|ref|file|new`, 6)}(class|interface|struct|enum|record|delegate|namespace)~(?:(?:class|struct)~)?([A-Za-z_][\\w.]*)`,
      `[ \\t]{1,16}(?:(?:${modifiers}|virtual|override|async|extern|partial|unsafe|new|readonly)[ \\t]+){1,6}(?:[\\w<>\\[\\],.?][\\w<>\\[\\],.? \\t]{0,80}[ \\t])?()(§)%(?:<[^>\\n]{0,60}>)?(?:\\(|\\{%get)`,
      `[ \\t]{1,16}(?!${statementStart})[A-Za-z_][\\w<>\\[\\],.? \\t]{0,80}[ \\t]()(§)%(?:<[^>\\n]{0,60}>)?(?:\\(|\\{%get)`,
    ],
    methods,
  ),
  fsharp: createGrammar('indent', 'function', [
    '%(let|type|module|and|exception)~(?:rec~|inline~|private~|mutable~|internal~){0,2}(§)',
    '[ \\t]+(?:static~)?(member)~(?:\\w+\\.)?(§)',
  ]),
  basic: createGrammar(
    'unknown',
    'function',
    [
      `%${optionalWords(`${modifiers}|friend|shared|overrides|overridable|partial|mustinherit`, 4)}(sub|function|class|module|interface|structure|enum|property)~(§)`,
    ],
    ignoreCase,
  ),
  c: createGrammar('bracket', 'function', [
    '(?!(?:return|else|if|for|while|switch|case|goto|typedef|using|template|extern)\\b)(?:[A-Za-z_][\\w:<>,*&\\[\\] \\t]{0,160}?[ \\t*&])?()((?:§::){0,4}\\x7e?§)%\\([^;\\n]{0,300}\\r?(?=\\n)',
    '%(?:typedef~)?(struct|class|union|enum|namespace)~(?:class~|struct~)?(?:[A-Z_]{3,40}~)?(§)(?=[^;=()\\n]{0,200}(?:\\{|\\r?\\n))',
    '%#%(define)~(§)',
    '(\\})%(§)%;',
    '(typedef)~[^;\\n{]{1,160}?[ \\t*](§)%;',
  ]),
  objc: createGrammar('bracket', 'function', [
    '(@interface|@implementation|@protocol)~(§)',
    '([-+])%\\([^)\\n]{1,100}\\)%(§)',
    '%(function)~(?:[\\w\\[\\], ]{1,80}=%)?(§)',
    '(?:static~)?[A-Za-z_][\\w* \\t]{0,80}[ \\t*]()(§)\\([^;\\n]{0,300}\\r?(?=\\n)',
  ]),
  ruby: createGrammar(
    'end',
    'constant',
    [
      '%(class|module)~([A-Z][\\w:]*)',
      '%(?:private~)?(def)~(?:self\\.)?([A-Za-z_]\\w*[?!=]?)',
      '%()([A-Z][A-Z0-9_]{2,})%=(?![=\\x7e])',
    ],
    methods,
  ),
  php: createGrammar(
    'bracket',
    'function',
    [
      `%${optionalWords('abstract|final|readonly', 2)}(class|interface|trait|enum)~(§)`,
      `%${optionalWords(modifiers, 4)}(function)~&?(§)`,
    ],
    methods,
  ),
  swift: createGrammar(
    'bracket',
    'function',
    [
      `%(?:@\\w+(?:\\([^)\\n]{0,60}\\))?~)?${optionalWords('public|private|internal|open|fileprivate|static|final|override|mutating|nonisolated|class|indirect|prefix|postfix', 5)}(class|struct|enum|protocol|extension|func|typealias|actor|macro)~(§)`,
    ],
    methods,
  ),
  dart: createGrammar(
    'bracket',
    'method',
    [
      `${optionalWords('abstract|sealed|base|final|interface', 3)}(class|mixin|enum|extension|typedef)~(§)`,
      '[ \\t]{0,4}(?:static~|external~)?[A-Za-z_][\\w<>?,.]{0,60}[ \\t]()(§)\\([^;\\n]{0,200}\\{%\\r?(?=\\n)',
    ],
    methods,
  ),
  shell: createGrammar('bracket', 'function', ['%(function)~([\\w:.-]+)', '%()([A-Za-z_][\\w:.-]*)%\\(\\)']),
  powershell: createGrammar('bracket', 'function', ['%(function|filter|class|enum)~([\\w:-]+)'], ignoreCase),
  lua: createGrammar('end', 'function', ['%(?:local~)?(function)~([\\w.:]+)', '(?:local~)?()([\\w.]+)%=%function']),
  elixir: createGrammar('end', 'function', [
    '%(defmodule|defprotocol|defimpl|defp?|defmacrop?|defguard|defdelegate)~([\\w.?!]+)',
  ]),
  gleam: createGrammar('bracket', 'function', ['(?:pub~)?(?:opaque~)?(fn|type|const)~(§)']),
  erlang: createGrammar('unknown', 'function', [
    '()([a-z]\\w*)\\([^\\n]{0,200}\\)%(?:when[^\\n]{0,100})?->',
    '-(record|define|module)\\((\\w+)',
  ]),
  haskell: createGrammar('indent', 'function', [
    "(data|newtype|type|class|module|instance)~(?:\\([^)\\n]{0,80}\\)%=>%|alias~)?([A-Z][\\w.']*)",
    "()([a-z_][\\w']*)[ \\t]+:{1,2}[ \\t]",
  ]),
  ocaml: createGrammar('unknown', 'function', [
    "[ \\t]{0,4}(let|and|module|type|val|class|external|exception)~(?:rec~|type~|nonrec~)?(?:'\\w+~|\\([^)\\n]{1,60}\\)~)?([A-Za-z_][\\w']*)",
  ]),
  lisp: createGrammar('unknown', 'function', [
    '%\\((define|defun|defmacro|defvar|defparameter|defclass|defmethod|defgeneric|define-record-type|struct|defcustom|defsubst|cl-defun|define-syntax)~\\(?([^\\s()]{1,100})',
  ]),
  perl: createGrammar('bracket', 'function', ['%(sub|package)~([\\w:]+)']),
  r: createGrammar('bracket', 'function', ['()([\\w.]+)%(?:<-|=)%function\\b']),
  julia: createGrammar('end', 'function', [
    '%(?:@\\w+~)?(function|mutable struct|struct|abstract type|module|macro|const)~([\\w.!]+)',
    '()([\\w.!]+)\\([^\\n=]{0,200}\\)%=(?!=)',
  ]),
  zig: createGrammar('bracket', 'function', [
    '%(?:pub~)?(?:export~|inline~|extern~)?(fn)~(§)',
    '(?:pub~)?(const|var)~(§)',
  ]),
  nim: createGrammar('indent', 'function', ['%(proc|func|method|template|macro|iterator|type|converter)~`?(§)']),
  solidity: createGrammar(
    'bracket',
    'function',
    ['%(?:abstract~)?(contract|library|interface|struct|enum|event|error|modifier|function|def)~(§)'],
    methods,
  ),
  sql: createGrammar(
    'unknown',
    'table',
    [
      '%create~(?:or~replace~)?(?:\\w+~){0,2}?(table|view|function|procedure|trigger|index|type|schema|sequence)~(?:if~not~exists~)?["`\\[]?([\\w.]+)',
    ],
    ignoreCase,
  ),
  idl: createGrammar('bracket', 'type', [
    '%(?:extend~|export~)?(message|service|enum|rpc|struct|union|exception|interface|type|input|scalar|directive|model|record|world|table)~@?(§)',
  ]),
  terraform: createGrammar('bracket', 'block', [
    '(resource|data)~"[^"\\n]{1,80}"~"([^"\\n]{1,80})"',
    '(module|variable|output|provider)~"([^"\\n]{1,80})"',
  ]),
  make: createGrammar('unknown', 'target', [
    '()([A-Za-z][\\w./-]*)%:(?![=:])',
    '%(function|macro|add_library|add_executable)\\(([\\w.-]+)',
  ]),
  fortran: createGrammar(
    'unknown',
    'function',
    ['%(?:\\w+~){0,2}?(subroutine|function|module|program|type)~(?:::%)?(§)'],
    ignoreCase,
  ),
  pascal: createGrammar(
    'unknown',
    'function',
    ['%(?:class~)?(procedure|function|constructor|destructor|unit|program)~([\\w.]+)'],
    ignoreCase,
  ),
  ada: createGrammar(
    'unknown',
    'function',
    ['%(procedure|function|package|entity|architecture|component|task)~(?:body~)?([\\w.]+)'],
    ignoreCase,
  ),
  verilog: createGrammar('unknown', 'module', [
    '%(module|interface|class|package|function|task|program)~(?:automatic~)?(?:[\\w\\[\\]:]+[ \\t]+)?(\\w+)%(?=[#(;])',
  ]),
  gdscript: createGrammar(
    'indent',
    'function',
    ['%(?:static~)?(func|class|class_name|signal|enum|const)~(§)'],
    methods,
  ),
  markdown: createGrammar('heading', 'heading', ['(#{1,4})~([^\\n]{1,200})']),
  rst: createGrammar('heading', 'heading', [
    '()([^\\s=~^*.-][^\\n]{2,120})\\n(?:={3,}|-{3,}|\\x7e{3,}|\\^{3,}|\\*{3,})%\\r?(?=\\n)'.replace('~', '\\x7e'),
  ]),
  asciidoc: createGrammar('heading', 'heading', ['(={1,4}|\\*{1,4})~([^\\n]{1,200})']),
}

export function grammarForLanguage(language: string): Grammar | undefined {
  return Object.hasOwn(grammars, language) ? grammars[language] : undefined
}
