// Workflows are held to what they promise: examples use inputs that exist, every action is pinned, every permission is the least and says why,
// and no expression reaches a script.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { settingInputs } from '../../src/action/inputs.js'
import { readDescription, root } from './kit.js'

interface Workflow {
  name: string
  on: unknown
  permissions: object
  concurrency: object
  jobs: Record<string, { permissions: Record<string, string>; 'timeout-minutes': number; steps: Step[] }>
}

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
}

const description = await readDescription()
const read = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.yml'))
    .map((name) => ({ name, text: readFileSync(join(root, folder, name), 'utf8') }))
    .map(({ name, text }) => ({ name: `${folder}/${name}`, text, workflow: parse(text) as Workflow }))
const examples = read('examples')
const own = read('.github/workflows')
const stepsOf = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps)
/** Where package.json says that this is published. */
const published = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).repository.replace('github:', '')
const ours = (step: Step) => step.uses === './' || step.uses?.startsWith(`${published}@`)

/** What each recipe may have at most, and why it is there stands beside it. */
const mostPermissions: Record<string, Record<string, string>> = {
  'examples/ask-endpoint.yml': {
    contents: 'read',
    'pull-requests': 'write',
    issues: 'write',
    discussions: 'write',
    'id-token': 'write',
  },
  'examples/attested-summary.yml attest': { 'id-token': 'write', attestations: 'write' },
  'examples/ask.yml': { contents: 'read', 'pull-requests': 'write', issues: 'write', discussions: 'write' },
  'examples/context-files.yml propose': { contents: 'write', 'pull-requests': 'write', actions: 'read' },
  '.github/workflows/prune.yml': { contents: 'read', 'pull-requests': 'read' },
  'examples/pull-request-comment.yml comment': { contents: 'read', 'pull-requests': 'write' },
}

describe.each([...examples, ...own])('$name', ({ name, text, workflow }) => {
  test('gives no permission to all jobs, and to each only what it needs, with a reason', () => {
    expect(workflow.permissions).toEqual({})
    for (const [job, { permissions }] of Object.entries(workflow.jobs)) {
      const most =
        job === 'publish'
          ? { contents: 'write', 'pull-requests': 'write', 'id-token': 'write', attestations: 'write' }
          : (mostPermissions[`${name} ${job}`] ?? mostPermissions[name] ?? { contents: 'read' })
      expect(permissions, job).toEqual(most)
      for (const [permission, level] of Object.entries(permissions)) {
        expect(text).toMatch(new RegExp(`^      ${permission}: ${level} # \\S`, 'm'))
      }
    }
  })

  test('lets no job write to GitHub that may summarise, because a summary clones with the token of its job', () => {
    for (const { permissions, steps } of Object.values(workflow.jobs)) {
      const writes = Object.entries(permissions).some(([what, level]) => level === 'write' && what !== 'id-token')
      const modes = steps.filter(ours).map((step) => String(step.with?.['mode'] ?? 'auto'))
      const summarises = modes.some((mode) => mode !== 'ask' && mode !== 'comment')
      expect(writes && summarises).toBe(false)
    }
  })

  test('pins every action of others by its commit and says which version that is', () => {
    for (const line of text.split('\n').filter((one) => /^\s*(- )?uses:/.test(one))) {
      if (line.trim().endsWith('uses: ./') || line.includes(`${published}@`)) continue
      expect(line).toMatch(/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+/)
    }
  })

  test('puts no expression into a script, ends in time, and does not run twice at once', () => {
    for (const { run } of stepsOf(workflow)) expect(run ?? '').not.toContain('${{')
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0)
    expect(workflow.concurrency).toMatchObject({ group: expect.any(String), 'cancel-in-progress': expect.any(Boolean) })
  })

  test('runs no script of a package in a job that has keys', () => {
    const withKeys = Object.values(workflow.jobs).filter((job) => JSON.stringify(job).includes('secrets.'))
    const installs = withKeys.flatMap(({ steps }) => steps.filter(({ run }) => /\bnpm (ci|install)\b/.test(run ?? '')))
    expect(installs.filter(({ run }) => !run?.includes('--ignore-scripts'))).toEqual([])
  })

  test('keeps no credential of the checkout', () => {
    for (const step of stepsOf(workflow).filter(({ uses }) => uses?.startsWith('actions/checkout@'))) {
      expect(step.with).toMatchObject({ 'persist-credentials': false })
    }
  })

  test('uses inputs that exist', () => {
    for (const step of stepsOf(workflow).filter(ours)) {
      expect(Object.keys(step.with ?? {}).filter((input) => !(input in description.inputs))).toEqual([])
    }
  })
})

const guide = 'docs/action.md'
const usesOf = (text: string) =>
  [...text.matchAll(/uses: ([\w.-]+\/[\w.-]+)@(.*)$/gm)].filter(([, name]) => name === published)
const shown = () => [guide, ...examples.map(({ name }) => name)].map((name) => readFileSync(join(root, name), 'utf8'))

test('examples and documents name one version of the action that can be used: the branch until there is a release', () => {
  const versions = shown().flatMap((text) => {
    const uses = usesOf(text).map(([, , version]) => version)
    expect(uses.length).toBeGreaterThan(0)
    return uses
  })
  expect(new Set(versions).size).toBe(1)
  expect(versions[0]).toMatch(/^(main # the branch: there is no release yet|[0-9a-f]{40} # v\d+\.\d+\.\d+)$/)
  expect(versions[0]).not.toMatch(/^0+ /)
})

test('the release workflow fills its version in everywhere', () => {
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  for (const name of ['examples', guide]) cpSync(join(root, name), join(folder, name), { recursive: true })
  const release = own.find(({ name }) => name.endsWith('/release.yml'))!
  const fill = stepsOf(release.workflow).flatMap(
    ({ run }) => run?.split('\n').filter((line) => line.startsWith('sed ')) ?? [],
  )
  expect(fill).toHaveLength(1)
  const environment = { GITHUB_REPOSITORY: published, GITHUB_SHA: 'a'.repeat(40), GITHUB_REF_NAME: 'v1.2.3' }
  execFileSync('bash', ['-ec', fill[0]!], { cwd: folder, env: { PATH: process.env['PATH'], ...environment } })
  const names = [guide, ...examples.map(({ name }) => name)]
  const versions = names.flatMap((name) =>
    usesOf(readFileSync(join(folder, name), 'utf8')).map(([, , version]) => version),
  )
  expect(new Set(versions)).toEqual(new Set([`${'a'.repeat(40)} # v1.2.3`]))
  rmSync(folder, { recursive: true })
})

describe('the release workflow', () => {
  const { jobs } = own.find(({ name }) => name.endsWith('/release.yml'))!.workflow
  const script = stepsOf({ jobs: { publish: jobs['publish']! } } as unknown as Workflow).find(({ run }) =>
    run?.includes('--is-ancestor'),
  )!.run!

  test.each([
    ['on the default branch', 'main', 0],
    ['on another branch', 'topic', 1],
  ])('a tag %s ends the check with %3$s', (_, branch, status) => {
    const folder = mkdtempSync(join(tmpdir(), 'release-'))
    const git = (...words: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
        cwd: folder,
        encoding: 'utf8',
      })
    git('init', '--quiet', '--initial-branch=main')
    git('commit', '--quiet', '--allow-empty', '--message=one')
    git('checkout', '--quiet', '-B', branch)
    git('commit', '--quiet', '--allow-empty', '--message=two')
    const sha = git('rev-parse', 'HEAD').trim()
    git('checkout', '--quiet', 'main')
    const environment = { PATH: process.env['PATH'], GITHUB_SHA: sha, GITHUB_REF_NAME: 'v1.2.3' }
    const ended = spawnSync('bash', ['-ec', script], { cwd: folder, env: environment, encoding: 'utf8' })
    const refused = ended.stdout.includes('not on main')
    expect({ status: ended.status, refused }).toEqual({ status, refused: status === 1 })
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['true', 0, ['release create', `api repos/${published}/releases/tags/v1.2.3`, 'api --method']],
    ['false', 1, ['release create', `api repos/${published}/releases/tags/v1.2.3`]],
  ])('a release whose immutability is %s ends the job with %s', (immutable, status, asked) => {
    const folder = mkdtempSync(join(tmpdir(), 'release-'))
    const gh = `#!/bin/sh\necho "$1 $2" >>"${folder}/asked"\ncase "$*" in *'--jq .immutable') echo ${immutable} ;; esac\n`
    writeFileSync(join(folder, 'gh'), gh, { mode: 0o755 })
    const steps = stepsOf({ jobs: { publish: jobs['publish']! } } as unknown as Workflow)
    const release = steps.find(({ run }) => run?.includes('gh release create'))!.run!
    const environment = {
      PATH: `${folder}:${process.env['PATH']}`,
      GITHUB_REPOSITORY: published,
      GITHUB_SHA: 'a'.repeat(40),
      GITHUB_REF_NAME: 'v1.2.3',
    }
    const ended = spawnSync('bash', ['-ec', release], { cwd: folder, env: environment, encoding: 'utf8' })
    expect({ status: ended.status, refused: ended.stdout.includes('immutable releases') }).toEqual({
      status,
      refused: status === 1,
    })
    expect(readFileSync(join(folder, 'asked'), 'utf8').trim().split('\n')).toEqual(asked)
    rmSync(folder, { recursive: true })
  })

  test('only people of the environment release, and what is released is attested with a list of its parts', () => {
    const publish = jobs['publish'] as unknown as { environment: string; steps: { uses?: string; with?: object }[] }
    expect(publish.environment).toBe('release')
    const attested = publish.steps.filter(({ uses }) => uses?.startsWith('actions/attest@')).map((step) => step.with)
    expect(attested).toEqual([
      expect.objectContaining({ 'subject-path': expect.stringContaining('dist/*.js') }),
      expect.objectContaining({ 'sbom-path': 'release/sbom.spdx.json' }),
    ])
  })
})

test('the quick start lets no job write to GitHub that may summarise', () => {
  const text = readFileSync(join(root, guide), 'utf8')
  const { jobs } = parse(/```yaml\n([\s\S]*?)```/.exec(text)![1]!) as Workflow
  const writing = Object.values(jobs).filter(({ permissions }) => Object.values(permissions).includes('write'))
  expect(writing.map(({ steps }) => steps.map((step) => step.with?.['mode']))).toEqual([['ask']])
  expect(Object.keys(jobs)).toHaveLength(2)
})

test('every example uses the action, and never checks code out', () => {
  expect(examples.length).toBeGreaterThanOrEqual(8)
  for (const { workflow } of examples) {
    expect(stepsOf(workflow).some(ours)).toBe(true)
    expect(stepsOf(workflow).some(({ uses }) => uses?.startsWith('actions/checkout@'))).toBe(false)
  }
})

test('every example that answers or summarises by itself has the keys', () => {
  for (const { name, workflow } of examples) {
    for (const step of stepsOf(workflow).filter(ours)) {
      if (step.with?.['endpoint'] !== undefined || step.with?.['mode'] === 'comment') continue
      expect(Object.keys(step.with ?? {}), name).toEqual(
        expect.arrayContaining(['e2b-api-key', 'drive9-api-key', 'llm-api-key', 'llm-model']),
      )
    }
  }
})

describe('action.yml', () => {
  test('runs the built file before and after, on the newest Node', () => {
    expect(description.runs).toEqual({ using: 'node24', main: 'dist/index.js', post: 'dist/post.js' })
  })

  test('has every setting as an input, and no unused input', () => {
    const sources = readdirSync(join(root, 'src/action'))
      .map((name) => readFileSync(join(root, 'src/action', name), 'utf8'))
      .join('\n')
    for (const input of Object.keys(settingInputs)) expect(description.inputs).toHaveProperty(input)
    const read = (input: string) => Object.hasOwn(settingInputs, input) || sources.includes(`'${input}'`)
    expect(Object.keys(description.inputs).filter((input) => !read(input))).toEqual([])
    for (const output of Object.keys(description.outputs)) expect(sources, output).toContain(`setOutput('${output}'`)
  })

  test('names in kebab-case, each with a sentence', () => {
    for (const [name, { description: text }] of Object.entries({ ...description.inputs, ...description.outputs })) {
      expect(name).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      expect(text).toMatch(/^.{12,}\.$/s)
    }
  })
})

test('a run is attested by a job that does nothing else, and only when it is new', () => {
  const { jobs } = examples.find(({ name }) => name.endsWith('/attested-summary.yml'))!.workflow as unknown as {
    jobs: Record<string, { if?: string; outputs?: object; steps: Step[] }>
  }
  expect(jobs['summary']?.outputs).toMatchObject({ digest: '${{ steps.summary.outputs.handoff-digest }}' })
  expect(jobs['attest']?.if).toBe("needs.summary.outputs.digest != ''")
  expect(jobs['attest']?.steps.map(({ uses, with: given }) => [uses?.split('@')[0], given])).toEqual([
    ['actions/attest', expect.objectContaining({ 'subject-digest': '${{ needs.summary.outputs.digest }}' })],
  ])
  expect(description.outputs).toHaveProperty('handoff-digest')
})

test('the guide shows each example', () => {
  const text = readFileSync(join(root, guide), 'utf8')
  for (const { name } of examples) expect(text).toContain(`](../${name})`)
})

test('every error text in docs/troubleshooting.md is in the sources', () => {
  const sources = ['src', 'api'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, folder, name), 'utf8')),
  )
  const all = sources.join('\n').replace(/\$\{[^}]*\}/g, '…')
  const page = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8')
  const cells = [...page.matchAll(/^\| (`.+?`) \|/gm)].map((match) => match[1]!)
  const texts = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!))
  expect(texts.length).toBeGreaterThan(10)
  for (const text of texts) {
    for (const part of text
      .split('…')
      .map((one) => one.trim())
      .filter((one) => one.length > 3))
      expect(all, text).toContain(part)
  }
})
