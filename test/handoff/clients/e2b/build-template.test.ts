// The template is built with E2B's own builder; what it holds is read from what the builder was sent.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SandboxCloud, startSandboxCloud } from '../../../../src/emulators/e2b/server.js'
import { buildTemplate, type TemplateSettings } from '../../../../src/handoff/clients/e2b/build-template.js'
import { makeSandboxes } from '../../../../src/handoff/clients/e2b/client.js'
import { nodeSha256, nodeVersion, templateName } from '../../../../src/handoff/clients/e2b/install-scripts.js'
import { request } from '../../../contract/sandbox-client.js'
import { refusal } from '../../../support/refusal.js'
import { runProgram } from '../../../support/run-program.js'

const never = new AbortController().signal
const url = `https://raw.githubusercontent.com/mem9-ai/drive9-fe/${'c'.repeat(40)}/site/releases/drive9-linux-amd64`
const sha256 = 'ab'.repeat(32)

let cloud: SandboxCloud

beforeEach(async () => {
  cloud = await startSandboxCloud({ templates: [] })
})

afterEach(async () => {
  expect(cloud.unsupported).toEqual([])
  await cloud.close()
})

function settings(more: Partial<TemplateSettings> = {}): TemplateSettings {
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  return { apiKey, apiUrl, sandboxUrl, template: 'handoff', binary: { url, sha256 }, ...more }
}

test('it holds what a workflow needs, and can be used when it is ready', async () => {
  const lines: string[] = []
  const built = await buildTemplate(settings(), (makeClient) => lines.push(makeClient), never)
  expect(built).toMatchObject({ name: 'handoff', tags: ['default', `drive9-${sha256.slice(0, 12)}`] })
  const [template] = cloud.templates
  expect(template).toMatchObject({ id: built.templateId, name: 'handoff', cpuCount: 2, memoryMB: 2048 })
  const [build] = template!.builds
  expect(build).toMatchObject({ id: built.buildId, status: 'ready', fromImage: 'ubuntu:22.04' })
  const steps = build!.steps.map(({ args }) => args[0])
  expect(build!.steps.every(({ type, args }) => type === 'RUN' && args[1] === 'root')).toBe(true)
  expect(steps).toHaveLength(4)
  expect(steps[0]).toMatch(/apt-get install .* ca-certificates \$missing/)
  expect(steps[1]).toContain('user_allow_other')
  expect(steps[2]).toContain(`https://nodejs.org/dist/v${nodeVersion}/`)
  expect(steps[2]).toContain(`${nodeSha256}  `)
  expect(steps[3]).toContain(`DRIVE9_BINARY_URL='${url}' DRIVE9_BINARY_SHA256=${sha256}`)
  expect(build!.startCmd).toBeUndefined()
  expect(lines.join('\n')).toContain('apt-get install')
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl } = cloud.settings
  const sandboxes = makeSandboxes({ apiKey, apiUrl, sandboxUrl: apiUrl, template: 'handoff' })
  expect((await sandboxes.open(request(), never)).template).toBe('handoff')
})

/** Carries out a step of the build with programs of ours where it would reach out or change this machine. */
async function carryOut(index: number, programs: Record<string, string>, files: Record<string, string>) {
  await buildTemplate(settings({ binary: { url, sha256: hash('right') } }), () => undefined, never)
  const step = cloud.templates[0]!.builds.at(-1)!.steps[index]!.args[0]!
  const folder = mkdtempSync(join(tmpdir(), 'step-'))
  for (const [name, text] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const { status } = spawnSync('/bin/bash', ['-c', step], { env: { PATH: `${folder}:/usr/bin:/bin`, stage: folder } })
  const left = existsSync(join(folder, 'result')) ? readFileSync(join(folder, 'result'), 'utf8') : undefined
  rmSync(folder, { recursive: true })
  return { status, left }
}

test('the program is installed only when it is the one that was named', async () => {
  const programs = {
    curl: 'while [ "$1" != -o ]; do shift; done; echo "$3" >"$stage/address"; cp "$stage/download" "$2"',
    install: 'cat "$3" "$stage/address" >"$stage/result"',
  }
  expect(await carryOut(3, programs, { download: 'right' })).toEqual({ status: 0, left: `right${url}\n` })
  expect(await carryOut(3, programs, { download: 'wrong' })).toEqual({ status: 1, left: undefined })
})

test('Node is unpacked only when it has the hash that stands in the recipe', async () => {
  const programs = {
    curl: 'while [ "$1" != -o ]; do shift; done; echo archive >"$2"',
    tar: 'echo "$*" >"$stage/result"',
    node: 'exit 1',
  }
  const known = { sha256sum: `read -r wanted file; [ "$wanted" = ${nodeSha256} ] && grep -q archive "$file"` }
  const unpacked = { status: 0, left: expect.stringContaining('-C /usr/local') }
  expect(await carryOut(2, { ...programs, ...known }, {})).toEqual(unpacked)
  expect(await carryOut(2, programs, {})).toEqual({ status: 1, left: undefined })
})

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

test('a name that cannot be a template of ours is refused before anything is asked', async () => {
  for (const template of ['base', 'Not A Name']) {
    const error = await refusal(buildTemplate(settings({ template }), () => undefined, never))
    expect(error.code).toBe('invalid-input')
    expect(error.next).toBeTruthy()
  }
  expect(cloud.requests).toEqual([])
})

test('where no template is named it is built under the name that runs look for', async () => {
  const { template: _, ...unnamed } = settings()
  const built = await buildTemplate(unnamed, () => undefined, never)
  expect(built.name).toBe(templateName({ url, sha256 }))
  const sandboxes = makeSandboxes({ ...unnamed })
  expect((await sandboxes.open(request(), never)).template).toBe(built.name)
})

test('a build that fails says so, and its template cannot be used', async () => {
  cloud.failNextBuild(3, 'sha256sum: WARNING: 1 computed checksum did NOT match')
  const lines: string[] = []
  const error = await refusal(buildTemplate(settings(), (makeClient) => lines.push(makeClient), never))
  expect(error.message).toBe(
    'Building the template handoff failed: the build of the template failed; its log says where.',
  )
  expect(lines.join('\n')).toContain('did NOT match')
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl } = cloud.settings
  const opening = makeSandboxes({ apiKey, apiUrl, sandboxUrl: apiUrl, template: 'handoff' }).open(request(), never)
  expect((await refusal(opening)).code).toBe('missing-setting')
})

test('a build can be stopped', async () => {
  const stop = new AbortController()
  const building = refusal(buildTemplate(settings(), () => stop.abort(), stop.signal))
  expect((await building).code).toBe('cancelled')
})

const command = (environment: Record<string, string>) =>
  runProgram('src/cli/template.ts', [], { PATH: '/usr/bin:/bin', ...environment })

test('the command builds it, or says what is missing and where to get it', async () => {
  const program = { DRIVE9_BINARY_URL: url, DRIVE9_BINARY_SHA256: sha256 }
  const [good, bare, refused, wrong] = await Promise.all([
    command({ ...cloud.settings, ...program }),
    command({}),
    command({ ...cloud.settings, ...program, E2B_API_KEY: 'wrong' }),
    command({ ...cloud.settings, ...program, DRIVE9_BINARY_URL: 'http://example.org/drive9' }),
  ])
  expect(good).toMatchObject({ code: 0, stderr: '' })
  expect(good.stdout).toMatch(/apt-get install[\s\S]*The template handoff-[0-9a-f]{12} is ready/)
  expect(bare).toMatchObject({ code: 1, stderr: expect.stringContaining('E2B_API_KEY is missing') })
  expect(bare.stderr).not.toContain('    at ')
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('E2B does not accept the key') })
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('DRIVE9_BINARY_URL is not an https address') })
})
