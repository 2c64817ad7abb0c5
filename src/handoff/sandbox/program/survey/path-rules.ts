// What the names of files and folders say, apart from their extensions. Tables and a few expressions.

/** Bits that a folder passes to everything below it. */
export const trait = {
  vendored: 1,
  generated: 2,
  test: 4,
  /** Inputs and expected outputs of tests. */
  fixture: 8,
  /** Examples, demos, playgrounds. */
  example: 16,
  documentation: 32,
  /** `test` and `testing`, which in Python are often product; classify-file.ts decides. */
  maybeTest: 64,
  /** Licences and changelogs: many similar files. */
  bulk: 128,
  translation: 256,
  /** `bench`, which deep in a source folder may be product; classify-file.ts decides. */
  maybeBench: 512,
} as const

const folderTraits = new Map<string, number>()
const addTraits = (bits: number, names: string) => {
  for (const name of names.split(' ')) folderTraits.set(name, bits)
}
addTraits(
  trait.vendored,
  'vendor vendored vendors node_modules third_party third-party thirdparty 3rdparty 3rd_party _vendor _vendored bower_components pods ' +
    'carthage jspm_packages .yarn godeps site-packages externals',
)
addTraits(trait.generated, 'dist compiled .next .nuxt __pycache__ .dart_tool __generated__ .docusaurus')
addTraits(
  trait.test,
  'tests __tests__ spec specs __specs__ e2e e2e-tests unittests unit-tests unit_tests integration-tests integration_tests ' +
    'functional-tests functional_tests cypress __mocks__ mocks test-utils testutils testutil benches benchmark benchmarks fuzz',
)
addTraits(trait.maybeTest, 'test testing')
addTraits(trait.maybeBench, 'bench')
addTraits(
  trait.test | trait.fixture,
  'testdata test-data test_data fixtures __fixtures__ fixture __snapshots__ snapshots golden goldens cassettes corpus testcases test-fixtures',
)
addTraits(
  trait.example,
  'example examples demo demos sample samples playground playgrounds tutorial tutorials cookbook recipes showcase',
)
addTraits(trait.documentation, 'doc docs documentation website site wiki manual man')
addTraits(trait.bulk, 'licenses changelog changelogs')
addTraits(trait.translation, 'locale locales translations i18n l10n lang langs')

export function traitsForFolder(path: string): number {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  return folderTraits.get(name) ?? (compoundTraits(name) || traitsAtTop(path.toLowerCase()))
}

/** Names that say so only at the top. Each folder in `deps` is a copied library; files beside these folders are not. */
function traitsAtTop(path: string): number {
  if (/^(?:deps|dependencies)\/[^/]+$/.test(path)) return trait.vendored
  return path === 'integration' ? trait.test : 0
}

/** `runtime-tests`, `__testfixtures__`, `benchmark-apps`, and packages named after what they test (`certtesting`). */
function compoundTraits(name: string): number {
  if (!/test|fixture|bench|example/.test(name)) return 0
  if (/fixtures?_*$/.test(name)) return trait.test | trait.fixture
  if (/[-_.](?:tests?|e2e|specs?|bench(?:marks?)?)_*$|^_*(?:tests?|e2e|bench(?:mark)?s?)[-_.]|testing$/.test(name))
    return trait.test
  return /^examples?[-_]|[-_]examples?$/.test(name) ? trait.example : 0
}

const lockFiles = new Set(
  (
    'package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock cargo.lock go.sum go.work.sum gemfile.lock ' +
    'composer.lock poetry.lock uv.lock pdm.lock pipfile.lock pixi.lock conda-lock.yml mix.lock rebar.lock pubspec.lock podfile.lock ' +
    'cartfile.resolved package.resolved packages.lock.json paket.lock flake.lock gradle.lockfile buildscript-gradle.lockfile conan.lock ' +
    'stack.yaml.lock cabal.project.freeze .terraform.lock.hcl shard.lock manifest.toml.lock chart.lock module.bazel.lock vcpkg-lock.json'
  ).split(' '),
)

const lockExtensions = new Set([...lockFiles].map((name) => name.slice(name.lastIndexOf('.') + 1)))

/** `ending` is the extension in lower case; this check excludes nearly every file. */
export function isLockFile(name: string, ending: string): boolean {
  return lockExtensions.has(ending) && lockFiles.has(name.toLowerCase())
}

export function isMinifiedName(name: string, ending: string): boolean {
  if (ending !== 'js' && ending !== 'css' && ending !== 'mjs') return false
  return /[.-]min\.(?:m?js|css)$|\.(?:bundle|chunk)\.(?:js|css)$/.test(name)
}

export function isGeneratedName(name: string): boolean {
  // A cheap check that excludes most names.
  if (!/gen|pb|grpc|designer|\.g\.|freezed|mocks|\.map$|bindata/i.test(name)) return false
  return (
    /\.pb(?:\.gw)?\.(?:go|cc|h|swift|dart)$|_pb2(?:_grpc)?\.pyi?$|\.(?:pb|grpc)\.ts$|_pb\.(?:js|d\.ts|rb)$|Grpc\.(?:java|cs)$/.test(
      name,
    ) ||
    /[._-]generated\.\w+$|^zz_generated\.|\.gen\.\w+$|_generated\.\w+$|^generated(?:_|\.\w+\.|\.proto$)/i.test(name) ||
    /\.(?:g|freezed|mocks)\.dart$|\.designer\.(?:cs|vb)$|\.g\.cs$|\.(?:js|css|ts)\.map$|^bindata\.go$/i.test(name)
  )
}

export function hasTestName(name: string): boolean {
  if (!/test|spec|bench|e2e|stories|[._-]cy|IT\.|Suite|\.t$/i.test(name)) return false
  return (
    /[._-](?:test|tests|spec|e2e|bench|cy|stories)\.\w+$|[._-](?:test|spec)\.d\.ts$|\.(?:test|spec|cy)-d\.ts$|[._-]bench\.\w+$/.test(
      name,
    ) ||
    /^test_.*\.py$|_test(?:s|ing)?\.(?:go|py|exs|dart|rs|cc|cpp|c|rb|erl|ml|jl|clj|lua|sh|zig)$|^(?:conftest|tests)\.py$|_spec\.rb$/.test(
      name,
    ) ||
    /(?:Test|Tests|TestCase|IT|Spec|Suite)\.(?:java|kt|scala|groovy|cs|fs|swift|php|m|mm)$|^test-.*\.(?:js|c|cc|py|R)$|\.t$/.test(
      name,
    )
  )
}

/** Distinguishes a test suite from a package with the name `test`. */
export function isPythonTestName(name: string): boolean {
  return /^test_.*\.py$|_tests?\.py$|^(?:conftest|tests)\.py$/.test(name)
}

/** Files that declare what a folder contains, how it is built and what it depends on. */
export function isManifest(name: string): boolean {
  return (
    /^(?:package\.json|deno\.jsonc?|cargo\.toml|go\.mod|go\.work|pyproject\.toml|setup\.(?:py|cfg)|pom\.xml|build\.(?:gradle|sbt|zig)(?:\.kts)?)$/i.test(
      name,
    ) ||
    /^(?:composer\.json|gemfile|mix\.exs|pubspec\.yaml|package\.swift|cmakelists\.txt|meson\.build|rebar\.config|dune-project|stack\.yaml)$/i.test(
      name,
    ) ||
    /^(?:requirements(?:[-_.]\w+)?\.txt|makefile|justfile|taskfile\.ya?ml|dockerfile|docker-compose\.ya?ml|compose\.ya?ml|project\.clj|description)$/i.test(
      name,
    ) ||
    /\.(?:csproj|fsproj|sln|gemspec|cabal|nimble|podspec|opam)$/i.test(name)
  )
}

export function isReadme(name: string): boolean {
  return /^readme(?:\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|org))?$/i.test(name)
}

/** Entry points of programs and libraries. */
export function isEntryPoint(name: string): boolean {
  return (
    /^(?:index|main|app|server|cli|mod|lib)\.[a-z]+$/i.test(name) ||
    /^(?:__init__|__main__|manage|wsgi|asgi|setup)\.py$|^(?:doc|root)\.go$|^(?:Program|Startup)\.(?:cs|fs)$|^Application\.(?:java|kt)$/.test(
      name,
    )
  )
}

/** Build scripts, whose task names collide with many others. */
export function isBuildScript(name: string): boolean {
  return /^(?:task|gulp|grunt|jake|cake)file\.[a-z.]+$|^[\w-]+\.config\.[cm]?[jt]s$/i.test(name)
}

/** Documents about the architecture or the development of the project. */
export function isProjectGuide(name: string): boolean {
  return /^(?:architecture|design|overview|hacking|development|developing|contributing|agents|claude|getting[-_]?started|quick[-_]?start|internals|concepts)\b.*\.(?:md|mdx|rst|txt|adoc)$/i.test(
    name,
  )
}

/** Standard documents that say nothing about this project. */
export function isBoilerplate(name: string): boolean {
  return /^(?:licen[cs]e|copying|notice|patents|authors|contributors|maintainers|owners|codeowners|code[-_]of[-_]conduct|security|support|funding|changelog|changes|history|news|release[-_]?notes|releases|credits|thanks|acknowledg|third[-_]?party|governance|citation|sponsors|backers)/i.test(
    name,
  )
}

const kindsByName: [RegExp, 'source' | 'documentation' | 'configuration', string][] = [
  [/^(?:gnu)?makefile(?:\..+)?$/i, 'source', 'make'],
  [/^cmakelists\.txt$/i, 'source', 'make'],
  [
    /^(?:rakefile|gemfile|podfile|vagrantfile|brewfile|fastfile|appfile|guardfile|capfile|berksfile|dangerfile)$/i,
    'source',
    'ruby',
  ],
  [/^(?:sconstruct|sconscript|build|workspace|wscript|buck|tiltfile|snakefile)$/i, 'source', 'python'],
  [/^(?:dockerfile|containerfile)(?:\..+)?$|\.dockerfile$/i, 'configuration', 'none'],
  [/^(?:jenkinsfile)(?:\..+)?$/i, 'source', 'java'],
  [
    /^(?:justfile|procfile|earthfile|caddyfile|codeowners|owners(?:_aliases)?|version|\.?[a-z]*rc|\.[a-z][\w.-]*)$/i,
    'configuration',
    'none',
  ],
  [/^(?:requirements|constraints)(?:[-_.][\w.-]{0,240})?\.(?:txt|in)$/i, 'configuration', 'none'],
  [/^robots\.txt$|^cname$/i, 'configuration', 'none'],
]

/** File names that determine the kind without an extension, or against it. */
export function kindForName(
  name: string,
): { kind: 'source' | 'documentation' | 'configuration'; grammar: string } | undefined {
  const found = kindsByName.find(([pattern]) => pattern.test(name))
  if (found) return { kind: found[1], grammar: found[2] }
  return isReadme(name) || (!name.includes('.') && isBoilerplate(name))
    ? { kind: 'documentation', grammar: 'none' }
    : undefined
}
