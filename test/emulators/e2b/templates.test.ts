import { Sandbox, Template } from 'e2b'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SandboxCloud, startSandboxCloud } from '../../../src/emulators/e2b/server.js'
import { rejection } from '../../contract/sandboxes/fixture.js'

let cloud: SandboxCloud
let connection: { apiKey: string; apiUrl: string; sandboxUrl: string }

beforeEach(async () => {
  cloud = await startSandboxCloud({ templates: ['base'] })
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  connection = { apiKey, apiUrl, sandboxUrl }
})

afterEach(async () => {
  await cloud.close()
})

test('a build is reported step by step, and then its template can be used', async () => {
  const lines: string[] = []
  const steps = Array.from({ length: 130 }, (_, index) => `echo ${index}`)
  const template = steps.reduce(
    (builder, step) => builder.runCmd(step),
    Template().fromUbuntuImage('22.04').setEnvs({ A: 'b' }),
  )
  expect(await Template.exists('mine', connection)).toBe(false)
  expect((await rejection(Sandbox.create('mine', connection))).statusCode).toBe(404)
  const onBuildLogs = ({ message }: { message: string }) => void lines.push(message)
  const built = await Template.build(template, 'mine', { ...connection, cpuCount: 2, memoryMB: 512, onBuildLogs })
  expect(built).toMatchObject({ name: 'mine', tags: ['default'] })
  expect(steps.every((step) => lines.some((line) => line.endsWith(`RUN ${step}`)))).toBe(true)
  expect(lines.findIndex((line) => line.endsWith(steps[0]!))).toBeLessThan(
    lines.findIndex((line) => line.endsWith(steps[129]!)),
  )
  expect(cloud.requests.filter(({ path }) => path.includes('/status')).length).toBeGreaterThan(1)
  const [record] = cloud.templates.filter(({ name }) => name === 'mine')
  expect(record).toMatchObject({ cpuCount: 2, memoryMB: 512 })
  expect(record!.builds[0]!.steps).toHaveLength(131)
  expect(await Template.exists('mine', connection)).toBe(true)
  for (const name of ['mine', 'mine:default', built.templateId]) await (await Sandbox.create(name, connection)).kill()
})

test('a build in the background is ready by and by; another of the same template ends it', async () => {
  await cloud.close()
  cloud = await startSandboxCloud({ templates: [], buildMilliseconds: 3_600_000 })
  const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl } = cloud.settings
  connection = { apiKey, apiUrl, sandboxUrl }
  const start = () =>
    Template.buildInBackground(Template().fromUbuntuImage('22.04').runCmd('true'), 'later', connection)
  const first = await start()
  expect((await rejection(Sandbox.create('later', connection))).message).toContain('has no ready build')
  expect(await Template.exists('later', connection)).toBe(true)
  const second = await start()
  expect(second.templateId).toBe(first.templateId)
  expect(cloud.templates[0]!.builds.map(({ status }) => status)).toEqual(['error', 'building'])
  cloud.templates[0]!.builds[1]!.readyAt = 0
  await (await Sandbox.create('later', connection)).kill()
  const { ApiClient, ConnectionConfig } = await import('e2b')
  const { data } = await new ApiClient(new ConnectionConfig(connection)).api.GET('/templates/{templateID}', {
    params: { path: { templateID: first.templateId } },
  })
  expect(data!.builds.map(({ buildID, status }) => [buildID, status])).toEqual([
    [second.buildId, 'ready'],
    [first.buildId, 'error'],
  ])
})

test('a new account has only base, which has neither Node nor drive9', async () => {
  expect(cloud.templates).toEqual([])
  const sandbox = await Sandbox.create('base', connection)
  for (const name of ['node', 'drive9'])
    await expect(sandbox.commands.run(`command -v ${name}`)).rejects.toMatchObject({ exitCode: 1 })
  await sandbox.commands.run('git --version && tar --version')
})

test('a template built with its own tags is found only by those tags', async () => {
  await Template.build(Template().fromBaseImage(), 'tagged', { ...connection, tags: ['v1'] })
  expect((await rejection(Sandbox.create('tagged', connection))).statusCode).toBe(404)
  await (await Sandbox.create('tagged:v1', connection)).kill()
})

test('a step that fails ends the build, and the error says why', async () => {
  cloud.failNextBuild(2, 'the second one failed')
  const template = Template().fromUbuntuImage('22.04').runCmd('true').runCmd('false').runCmd('never')
  const lines: string[] = []
  const onBuildLogs = ({ message }: { message: string }) => void lines.push(message)
  const error = await rejection(Template.build(template, 'failing', { ...connection, onBuildLogs }))
  expect(error).toMatchObject({ name: 'BuildError', message: 'the second one failed' })
  expect(lines.join('\n')).not.toContain('RUN never')
  expect((await rejection(Sandbox.create('failing', connection))).statusCode).toBe(404)
})

test('what cannot be a template is refused', async () => {
  const build = (image: string, name: string) =>
    rejection(Template.build(Template().fromImage(image), name, connection))
  expect((await build('oraclelinux:9', 'odd')).message).toContain('unsupported base image')
  expect((await build('ubuntu:22.04', 'Not A Name')).name).toBe('BuildError')
  const unknown = Template.getBuildStatus({ templateId: 'none', buildId: 'none' }, connection)
  expect((await rejection(unknown)).name).toBe('BuildError')
})
