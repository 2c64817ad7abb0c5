// The tables by which highlight.ts reads languages.

export interface Language {
  name: string
  /** Ends of file names, and names that a model gives a language. */
  endings: string[]
  keywords: ReadonlySet<string>
  /** What begins a comment up to the end of the line. */
  line?: string[]
  blocks?: [begin: string, end: string][]
  /** The longer ones first. One of three characters, and a backtick, may span lines. */
  strings?: string[]
  /** Characters that make the word behind them a name of its own kind: `@decorator`, `$variable`. */
  signs?: string
  /** A file of settings: words before this character are keys. */
  keys?: string
  dashes?: boolean
  caseless?: boolean
  tags?: boolean
}

const words = (text: string) => text.split(' ')
const set = (text: string): ReadonlySet<string> => new Set(words(text))

const slashes = { line: ['//'], blocks: [['/*', '*/']] as [string, string][] }
const quotes = ['"', "'"]
const hash = { line: ['#'] }

const script =
  'abstract any as asserts async await boolean break case catch class const constructor continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let namespace never new null number object of override private protected public readonly return satisfies set static string super switch symbol this throw true try type typeof undefined unknown using var void while with yield'
const c =
  'auto bool break case char const continue default do double else enum extern false float for goto if inline int long nullptr register restrict return short signed sizeof static struct switch true typedef union unsigned void volatile while NULL size_t'

export const languages: Language[] = [
  {
    name: 'TypeScript',
    endings: words('ts tsx mts cts typescript'),
    ...slashes,
    strings: ['`', ...quotes],
    signs: '@',
    keywords: set(script),
  },
  {
    name: 'JavaScript',
    endings: words('js jsx mjs cjs javascript'),
    ...slashes,
    strings: ['`', ...quotes],
    signs: '@',
    keywords: set(script),
  },
  {
    name: 'Python',
    endings: words('py pyi pyx python'),
    ...hash,
    strings: ['"""', "'''", ...quotes],
    signs: '@',
    keywords: set(
      'and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self',
    ),
  },
  {
    name: 'Go',
    endings: ['go', 'golang'],
    ...slashes,
    strings: ['`', ...quotes],
    keywords: set(
      'any bool break byte case chan const continue default defer else error fallthrough false float32 float64 for func go goto if import int int32 int64 interface iota map nil package range return rune select string struct switch true type uint uint8 uint32 uint64 var',
    ),
  },
  {
    name: 'Rust',
    endings: ['rs', 'rust'],
    ...slashes,
    strings: quotes,
    keywords: set(
      'as async await bool break const continue crate dyn else enum extern f32 f64 false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str struct super trait true type u8 u16 u32 u64 unsafe use usize where while',
    ),
  },
  {
    name: 'Java',
    endings: ['java'],
    ...slashes,
    strings: ['"""', ...quotes],
    signs: '@',
    keywords: set(
      'abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package permits private protected public record return sealed short static super switch synchronized this throw throws transient true try var void volatile while yield',
    ),
  },
  {
    name: 'Kotlin',
    endings: ['kt', 'kts', 'kotlin'],
    ...slashes,
    strings: ['"""', ...quotes],
    signs: '@',
    keywords: set(
      'abstract as break by catch class companion const constructor continue data do else enum false final finally for fun if import in init inline interface internal is it lateinit null object open operator out override package private protected public return sealed super suspend this throw true try typealias val var when where while',
    ),
  },
  {
    name: 'Scala',
    endings: ['scala', 'sc', 'sbt'],
    ...slashes,
    strings: ['"""', ...quotes],
    signs: '@',
    keywords: set(
      'abstract case catch class def do else enum extends extension false final finally for forSome given if implicit import lazy match new null object override package private protected return sealed super then this throw trait true try type using val var while with yield',
    ),
  },
  { name: 'C', endings: ['c', 'h'], ...slashes, strings: quotes, signs: '#', keywords: set(c) },
  {
    name: 'C++',
    endings: words('cc cpp cxx hh hpp hxx ino cu c++'),
    ...slashes,
    strings: quotes,
    signs: '#',
    keywords: set(
      `${c} alignas alignof catch class concept consteval constexpr constinit co_await co_return co_yield decltype delete explicit export final friend mutable namespace new noexcept operator override private protected public requires static_cast template this throw try typename using virtual`,
    ),
  },
  {
    name: 'C#',
    endings: words('cs csx c# csharp'),
    ...slashes,
    strings: ['"""', ...quotes],
    signs: '#',
    keywords: set(
      'abstract as async await base bool break byte case catch char class const continue decimal default delegate do double else enum event explicit extern false finally float for foreach get if implicit in int interface internal is lock long namespace new null object operator out override params partial private protected public readonly record ref return sealed set short static string struct switch this throw true try typeof using var virtual void when where while yield',
    ),
  },
  {
    name: 'Ruby',
    endings: words('rb rake gemspec ruby'),
    ...hash,
    strings: quotes,
    signs: '@:',
    keywords: set(
      'alias and begin break case class def defined do else elsif end ensure extend false for if in include module next nil not or private protected raise redo require require_relative rescue retry return self super then true undef unless until when while yield',
    ),
  },
  {
    name: 'PHP',
    endings: ['php', 'phtml'],
    line: ['//', '#'],
    blocks: [['/*', '*/']],
    strings: quotes,
    signs: '$',
    keywords: set(
      'abstract and array as break callable case catch class clone const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof interface isset match namespace new null or private protected public readonly require require_once return self static switch throw trait true try unset use var void while yield',
    ),
  },
  {
    name: 'Swift',
    endings: ['swift'],
    ...slashes,
    strings: ['"""', '"'],
    signs: '@#',
    keywords: set(
      'actor as associatedtype async await break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func guard if import in init inout internal is lazy let mutating nil open operator override private protocol public repeat return self Self some static struct subscript super switch throw throws true try typealias var weak where while',
    ),
  },
  {
    name: 'Shell',
    endings: words('sh bash zsh ksh shell console'),
    ...hash,
    strings: quotes,
    signs: '$',
    keywords: set(
      'case do done elif else esac exec exit export fi for function if in local readonly return select set shift source then trap unset until while',
    ),
  },
  {
    name: 'SQL',
    endings: words('sql ddl psql pgsql'),
    line: ['--'],
    blocks: [['/*', '*/']],
    strings: quotes,
    caseless: true,
    keywords: set(
      'add all alter and as asc begin between bigint boolean by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert int integer into is join key left like limit not null offset on or order outer primary references returning right rollback select set table text then timestamp union unique update using values varchar view when where with',
    ),
  },
  {
    name: 'HTML',
    endings: words('html htm xhtml vue svelte astro'),
    blocks: [['<!--', '-->']],
    strings: quotes,
    dashes: true,
    tags: true,
    keywords: set(''),
  },
  {
    name: 'XML',
    endings: words('xml svg xsl xslt plist csproj fsproj props targets'),
    blocks: [['<!--', '-->']],
    strings: quotes,
    dashes: true,
    tags: true,
    keywords: set(''),
  },
  {
    name: 'CSS',
    endings: words('css scss less pcss'),
    ...slashes,
    strings: quotes,
    signs: '@$',
    keys: ':',
    dashes: true,
    keywords: set('auto inherit initial none unset important'),
  },
  {
    name: 'JSON',
    endings: words('json jsonc json5 webmanifest'),
    ...slashes,
    strings: ['"'],
    keys: ':',
    keywords: set('true false null'),
  },
  {
    name: 'YAML',
    endings: ['yaml', 'yml'],
    ...hash,
    strings: quotes,
    signs: '&*',
    keys: ':',
    dashes: true,
    keywords: set('true false null yes no on off'),
  },
  {
    name: 'TOML',
    endings: words('toml ini cfg conf properties env'),
    line: ['#', ';'],
    strings: ['"""', "'''", ...quotes],
    keys: '=',
    dashes: true,
    keywords: set('true false'),
  },
  {
    name: 'Lua',
    endings: ['lua', 'luau'],
    blocks: [['--[[', ']]']],
    line: ['--'],
    strings: quotes,
    keywords: set(
      'and break do else elseif end false for function goto if in local nil not or repeat return self then true until while',
    ),
  },
  {
    name: 'Dart',
    endings: ['dart'],
    ...slashes,
    strings: ['"""', "'''", ...quotes],
    signs: '@',
    keywords: set(
      'abstract as assert async await bool break case catch class const continue default do double dynamic else enum export extends extension false final finally for get if implements import in int is late library mixin new null on operator part required rethrow return sealed set static super switch this throw true try typedef var void while with yield',
    ),
  },
  {
    name: 'Elixir',
    endings: ['ex', 'exs', 'elixir'],
    ...hash,
    strings: ['"""', ...quotes],
    signs: '@:',
    keywords: set(
      'after and case catch cond def defimpl defmacro defmodule defp defprotocol defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with',
    ),
  },
  {
    name: 'Terraform',
    endings: ['tf', 'hcl', 'terraform'],
    line: ['#', '//'],
    blocks: [['/*', '*/']],
    strings: ['"'],
    keys: '=',
    keywords: set('data false for if in locals module null output provider resource terraform true variable'),
  },
  {
    name: 'Protocol Buffers',
    endings: ['proto', 'protobuf'],
    ...slashes,
    strings: quotes,
    keywords: set(
      'bool bytes double enum extend false fixed32 fixed64 float import int32 int64 map message oneof option optional package public repeated required reserved returns rpc service sint32 sint64 stream string syntax true uint32 uint64',
    ),
  },
  {
    name: 'Dockerfile',
    endings: ['dockerfile'],
    ...hash,
    strings: quotes,
    signs: '$',
    keywords: set(
      'ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL STOPSIGNAL USER VOLUME WORKDIR',
    ),
  },
]
