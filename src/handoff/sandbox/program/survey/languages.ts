// The language of a file by its extension, and the meaning of other extensions. Tables only.

/** The grammar of its definitions, and its family: a name of one family never means a definition of another. */
interface Language {
  grammar: string
  family: string
}

const languages: [grammar: string, family: string, endings: string][] = [
  ['javascript', 'web', 'ts mts cts tsx js jsx mjs cjs vue svelte astro es6 qml'],
  ['python', 'python', 'py pyi pyx pxd pyw bzl star bazel'],
  ['go', 'go', 'go'],
  ['rust', 'rust', 'rs move cairo'],
  ['java', 'jvm', 'java groovy gradle gvy cls trigger apex'],
  ['kotlin', 'jvm', 'kt kts'],
  ['scala', 'jvm', 'scala sc sbt'],
  ['clojure', 'jvm', 'clj cljs cljc'],
  ['csharp', 'dotnet', 'cs csx razor cshtml'],
  ['fsharp', 'dotnet', 'fs fsx fsi'],
  ['basic', 'dotnet', 'vb vbs bas'],
  [
    'c',
    'c',
    'c h cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp cu cuh ino metal cl glsl vert frag geom comp hlsl wgsl shader d',
  ],
  ['objc', 'c', 'm mm'],
  ['ruby', 'ruby', 'rb rake gemspec ru cr podspec'],
  ['php', 'php', 'php phtml inc module'],
  ['swift', 'c', 'swift'],
  ['dart', 'dart', 'dart hx'],
  ['shell', 'shell', 'sh bash zsh ksh fish bats awk'],
  ['powershell', 'shell', 'ps1 psm1 psd1 bat cmd'],
  ['lua', 'lua', 'lua luau'],
  ['elixir', 'beam', 'ex exs'],
  ['erlang', 'beam', 'erl hrl'],
  ['haskell', 'haskell', 'hs lhs purs elm idr'],
  ['ocaml', 'ocaml', 'ml mli re rei'],
  ['lisp', 'lisp', 'lisp el scm ss rkt'],
  ['perl', 'perl', 'pl pm'],
  ['r', 'r', 'r'],
  ['julia', 'julia', 'jl'],
  ['zig', 'zig', 'zig'],
  ['nim', 'nim', 'nim nims'],
  ['solidity', 'solidity', 'sol vy'],
  ['sql', 'sql', 'sql psql ddl pgsql plsql'],
  ['idl', 'idl', 'proto thrift graphql gql graphqls prisma wit avdl capnp fbs'],
  ['terraform', 'terraform', 'tf hcl nomad'],
  ['make', 'make', 'mk mak cmake'],
  ['style', 'style', 'css scss sass less styl pcss'],
  [
    'none',
    'markup',
    'html htm xhtml ejs hbs handlebars mustache njk jinja jinja2 j2 erb haml slim pug twig liquid tmpl gotmpl tpl xsl xslt',
  ],
  ['fortran', 'fortran', 'f f90 f95 f03 f08 for'],
  ['pascal', 'pascal', 'pas pp dpr lpr'],
  ['ada', 'ada', 'adb ads vhd vhdl'],
  ['verilog', 'verilog', 'v vh sv svh'],
  ['gdscript', 'gdscript', 'gd'],
  ['gleam', 'beam', 'gleam'],
  [
    'none',
    'other',
    's asm nix tcl vim coffee jsonnet libsonnet rego cue cob cbl cpy st jai odin ll wat f77 matlab mlx sas do ado ahk applescript',
  ],
  ['markdown', 'documentation', 'md mdx markdown'],
  ['rst', 'documentation', 'rst'],
  ['asciidoc', 'documentation', 'adoc asciidoc org'],
  ['none', 'documentation', 'txt textile rdoc tex pod typ texi man 1 2 3 5 7 8'],
  [
    'none',
    'configuration',
    'json json5 jsonc yaml yml toml ini cfg conf config properties env xml plist xcconfig csproj fsproj vbproj sln props targets service rc neon edn dhall ron kdl cabal nuspec desktop pem key crt cer pub npmrc webmanifest',
  ],
]

/** Listed and never read: tables, pictures as text, translations, recordings. */
const dataExtensions = new Set(
  words(
    'csv tsv geojson ndjson jsonl svg po pot xlf xlf2 xliff resx strings arb snap snapshot snapshots golden expected out log dat ' +
      'map ipynb_checkpoints vtt srt bib ics vcf fasta fa gff pdb mol obj stl ply gltf wkt kml gpx tmx ipynb diff patch ' +
      'har sum lst ldif dump cast asc sig storyboard xib pbxproj dot drawio excalidraw puml svgz err stdout stderr result baseline',
  ),
)

const binaryExtensions = new Set(
  words(
    'png jpg jpeg gif webp avif ico icns bmp tif tiff psd ai eps heic xcf sketch fig pdf doc docx xls xlsx ppt pptx odt ods odp ' +
      'zip gz tgz bz2 xz zst lz4 7z rar tar jar war ear aar whl egg nupkg deb rpm apk ipa dmg iso img cab msi ' +
      'exe dll so dylib a o lib obj pdb class pyc pyo pyd wasm bc node elf bin dex rlib ' +
      'mp3 mp4 m4a m4v mov avi mkv webm ogg oga ogv wav flac aac mid midi ttf otf woff woff2 eot ' +
      'sqlite sqlite3 db mdb parquet avro orc arrow feather npy npz h5 hdf5 pkl pickle joblib pt pth onnx safetensors ckpt pb gguf ' +
      'tflite model bundle keystore jks p12 pfx der gpg pack idx swf fla blend fbx glb 3ds max unitypackage asset uasset umap ' +
      'lockb mo gmo rdb snappy br dump1 swp bmp8 tga dds ktx exr hdr cur ani res nib xcuserstate xpi crx',
  ),
)

function words(text: string): string[] {
  return text.split(' ')
}

const byExtension = new Map(
  languages.flatMap(([grammar, family, endings]) =>
    words(endings).map((ending): [string, Language] => [ending, { grammar, family }]),
  ),
)

const byGrammar = new Map(languages.map(([grammar, family]): [string, Language] => [grammar, { grammar, family }]))

type ExtensionCategory = 'language' | 'data' | 'binary' | 'unknown'

/** The extension in lower case, without the dot; empty if there is none. `.env.local` has `env`. */
export function extensionOf(name: string): string {
  if (name.startsWith('.env')) return 'env'
  const dot = name.lastIndexOf('.')
  return dot <= 0 ? '' : name.slice(dot + 1).toLowerCase()
}

export function categoryOfExtension(ending: string): ExtensionCategory {
  if (byExtension.has(ending)) return 'language'
  return binaryExtensions.has(ending) ? 'binary' : dataExtensions.has(ending) ? 'data' : 'unknown'
}

export function languageForExtension(ending: string): Language | undefined {
  return byExtension.get(ending)
}

const unknownLanguage: Language = { grammar: 'none', family: 'other' }

export function languageForGrammar(grammar: string): Language {
  return byGrammar.get(grammar) ?? unknownLanguage
}

const interpreters: [RegExp, string][] = [
  [/\b(?:node|deno|bun|tsx?|ts-node)\b/, 'javascript'],
  [/python|pypy/, 'python'],
  [/\b(?:ba|z|k|da|fi)?sh\b/, 'shell'],
  [/ruby/, 'ruby'],
  [/perl/, 'perl'],
  [/php/, 'php'],
  [/lua/, 'lua'],
  [/Rscript/, 'r'],
  [/julia/, 'julia'],
  [/elixir/, 'elixir'],
  [/escript/, 'erlang'],
]

/** The grammar for the interpreter in a script's first line. */
export function grammarForScript(start: string): string | undefined {
  const line = /^#![^\n]{0,200}/.exec(start)?.[0]
  return line === undefined ? undefined : (interpreters.find(([name]) => name.test(line))?.[1] ?? 'none')
}
