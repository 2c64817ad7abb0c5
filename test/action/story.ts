// A step reported without what differs from run to run, for snapshots: what the runner received, what people see, and who was asked for what.
// The words of the model are not part of it; they have tests of their own.
import type { ActionStack, Step } from './kit.js'

export interface Story {
  code: number | null
  commands: string[]
  /** Sorted: steps that go on at the same time end in any order. */
  log: string[]
  outputs: Record<string, string>
  /** Headings and tables. */
  summary: string[]
  /** Each kind of request once; what is asked how often is what other tests are for. */
  requests: string[]
}

/** Call it before the step; what it returns tells the story afterwards. */
export function watchStory(stack: ActionStack): (step: Step) => Story {
  const places = {
    e2b: stack.clouds.sandboxes.requests,
    drive9: stack.clouds.drive.requests,
    model: stack.clouds.model.requests,
    git: stack.remote.requests,
    github: stack.github.server.requests,
  }
  const before = Object.entries(places).map(([name, requests]) => [name, requests, requests.length] as const)
  return (step) => {
    const plain = plainFor(stack)
    const requests = before.flatMap(([name, all, from]) =>
      all
        .slice(from)
        .filter(({ path }) => !isTemporary(path))
        .map(({ method, path }) => requestOf(plain(`${name} ${method} ${path.split('?')[0]}`))),
    )
    return {
      code: step.code,
      commands: step.commands
        .filter(({ name }) => name !== 'add-mask')
        .map(({ name, data }) => plain(`${name} ${data}`.trim())),
      log: step.lines.map(plain).sort(),
      outputs: Object.fromEntries(
        Object.entries(step.outputs).map(([name, value]) => [
          name,
          worded(name) && value !== '' ? '<words>' : plain(value),
        ]),
      ),
      summary: step.summary
        .split('\n')
        .filter((line) => /^(#|\| [^|]+ \|)/.test(line))
        .map(plain),
      requests: [...new Set(requests)].sort(),
    }
  }
}

const worded = (name: string) => ['answer', 'citations', 'tokens', 'cost', 'handoff-digest'].includes(name)

/** The mount uploads a file under its temporary name only if its rename comes late. */
const isTemporary = (path: string) => /\/\.handoff-\d+\.tmp/.test(path)

/** What a mount reads of a directory, and in which pieces things are looked for, is its own affair. */
function requestOf(request: string): string {
  return (
    request
      // Large files come from the object storage.
      .replace(/^drive9 GET \/s3\/.*$/, 'drive9 reads <run>')
      .replace(/^drive9 (?:GET|HEAD) \/v1\/fs\/handoff\/<host>\/octo\/tools\/runs.*$/, 'drive9 reads <run>')
      .replace(/^git .*/, 'git reads')
  )
}

export function plainFor(stack: ActionStack): (text: string) => string {
  const commits = stack.repository.commits
  return (text) => {
    let plain = text.replaceAll(stack.folder, '<temporary>')
    for (const [index, sha] of commits.entries())
      plain = plain.replaceAll(sha, `<commit ${index + 1}>`).replaceAll(sha.slice(0, 12), `<commit ${index + 1}>`)
    return plain
      .replaceAll(commits.at(-1)!.slice(0, 7), '<head>')
      .replace(/127\.0\.0\.1[:_]\d+/g, '<host>')
      .replace(/\bi[0-9a-f]{19}\b/g, '<sandbox>')
      .replace(/\bsha256 [0-9a-f]{64}\b/g, 'sha256 <hash>')
      .replace(/\b[0-9a-f]{32}\b/g, '<answer>')
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
      .replace(/\b70\d\d-1-[a-z0-9]{8}\b/g, '<attempt>')
      .replace(/\((?:\d+\.\d) s\)/g, '(<time>)')
      .replace(/\b\d[\d,]*(?= (?:tokens|in\b|out\b|bytes))/g, '<n>')
      .replace(/\bQuestion \d+/g, 'Question <n>')
      .replace(/comments\/\d+/g, 'comments/<n>')
      .replace(/reactions\/\d+/g, 'reactions/<n>')
      .replace(/tokens\/[^/ ]+/g, 'tokens/<id>')
      .replace(/(\| [a-z ]+ \|) \d+\.\d(?= \|)/g, '$1 <time>')
      .replace(/^\d+ excerpts of \d+ files/, '<n> excerpts of <n> files')
      .replace(/\$\d+\.\d+/g, '$<n>')
      .replace(/^The model will be asked.*/, 'The model will be asked <n> times.')
      .replace(/(\| Read \|).*/, '$1 <n> |')
      .replace(/(\| Time \|).*/, '$1 <times> |')
  }
}
