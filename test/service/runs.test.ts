// What there is to see without asking: repositories, runs, answers in pages, and the lines behind a citation.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { layout, summarise } from '../../src/handoff/index.js'
import { call, type Deployment, deploy, name, otherToken, post } from './kit.js'

let here: Deployment
const never = new AbortController().signal
const runs: string[] = []

beforeAll(async () => {
  here = await deploy()
  runs.push(here.run.run)
  for (const text of ['one', 'two']) {
    const sha = await here.repository.commit({ 'src/later.ts': `export const later = '${text}'\n` })
    const commit = { repository: here.where, sha, cloneUrl: here.stack.remote.cloneUrl(name), ref: 'refs/heads/main' }
    const { run } = await summarise({ commit, attempt: 'first' }, here.stack.context, never)
    runs.unshift(run)
  }
}, 120_000)

afterAll(async () => {
  await here?.close()
})

const at = (path: string, more = '') => `/api/runs${path}?repository=${encodeURIComponent(name)}${more}`
const idOf = (list: { run: string }[]) => list.map(({ run }) => run)

test('the repositories that the token may see, and no others', async () => {
  expect((await call(here.url, '/api/runs')).body).toEqual({ repositories: [name], models: ['offline-extractive'] })
  expect((await call(here.url, '/api/runs', { token: otherToken })).body).toEqual({
    repositories: [],
    models: ['offline-extractive'],
  })
  expect((await call(here.url, at(''), { token: otherToken })).status).toBe(403)
})

test('runs in pages, the newest first, each once', async () => {
  const first = await call(here.url, at('', '&limit=2'))
  expect(first.status).toBe(200)
  expect(first.headers.get('link')).toContain('rel="next"')
  const next = await call(here.url, at('', `&limit=2&cursor=${first.body.next}`))
  expect([...idOf(first.body.runs), ...idOf(next.body.runs)].sort()).toEqual([...runs].sort())
  expect(next.body.next).toBeUndefined()
  expect(first.body.runs[0]).toMatchObject({
    repository: name,
    ref: 'refs/heads/main',
    files: expect.any(Number),
    model: expect.any(String),
  })
})

test.each(['&limit=0', '&limit=101', '&limit=x', '&cursor=!!!', '&ref=main&pull=1', '&pull=x'])(
  '%s makes no sense',
  async (query) => {
    expect((await call(here.url, at('', query))).status).toBe(400)
  },
)

test('the run that answers for a branch', async () => {
  const { body } = await call(here.url, at('', '&ref=main'))
  expect(idOf(body.runs)).toEqual([runs[0]])
})

test('one run with its summary and its record', async () => {
  const { status, body } = await call(here.url, at(`/${here.run.run}`))
  expect(status).toBe(200)
  expect(body).toMatchObject({
    run: here.run.run,
    summary: here.run.summary,
    handoff: { run: here.run.run, version: 1 },
  })
  const headings = body.summaryBlocks.filter(({ kind }: { kind: string }) => kind === 'heading')
  expect(headings[1]).toEqual({
    kind: 'heading',
    level: 2,
    content: [{ kind: 'text', text: 'What it is and for whom' }],
  })
  const links = JSON.stringify(body.summaryBlocks).match(/"url":"[^"]*/g) ?? []
  const lines = `"url":"${here.stack.remote.url}/${name}/blob/${body.commit}/`
  expect(links.length).toBeGreaterThan(0)
  expect(links.filter((link) => !link.startsWith(lines))).toEqual([])
})

test('a look writes nothing and starts no sandbox, also at a run whose pointer was lost', async () => {
  const { drive } = here.stack.clouds
  const { pointer } = layout('/handoff', here.where)
  const path = pointer(runs[0]!.slice(0, 40))
  const bytes = drive.readFile(path)!
  drive.remove(path)
  const [from, machines] = [drive.requests.length, here.machines()]
  const looks = [at(''), at(`/${runs[0]}`), at(`/${runs[0]}/answers`), at('', '&ref=main'), '/api/runs']
  const seen = await Promise.all(looks.map((address) => call(here.url, address)))
  expect(seen.map(({ status }) => status)).toEqual(looks.map(() => 200))
  expect(seen[1]!.body.run).toBe(runs[0])
  const writes = drive.requests.slice(from).filter(({ method }) => !['GET', 'HEAD'].includes(method))
  drive.write(path, bytes)
  expect([writes.map((one) => `${one.method} ${one.path}`), here.machines() - machines]).toEqual([[], 0])
})

test('by query as by path: the platform may rewrite the address', async () => {
  const rewritten = await call(here.url, `/api/runs?run=${here.run.run}&repository=${name}`)
  expect(rewritten.body.run).toBe(here.run.run)
})

test('a page leads to the next one by its path, whichever way it was asked for', async () => {
  for (const question of ['Which colour is it?', 'How is the token refreshed?'])
    await post(here.url, { repository: name, run: here.run.run, question })
  const [all, ...pages] = await Promise.all([
    call(here.url, at(`/${here.run.run}/answers`)),
    call(here.url, at(`/${here.run.run}/answers`, '&limit=1')),
    call(here.url, at('', `&run=${here.run.run}&part=answers&limit=1`)),
  ])
  const [first, second] = all.body.answers
  const links = pages.map(({ headers }) => /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1])
  expect(links).toEqual([links[0], links[0]])
  expect(links[0]).toMatch(`/api/runs/${here.run.run}/answers?`)
  expect(pages.map(({ body }) => body.answers)).toEqual([[first], [first]])
  expect((await call(here.url, links[0]!)).body.answers).toEqual([second])
})

test('answers in pages, one by its id, and the lines that it cites', async () => {
  // No other test asks about this run.
  const [, run = ''] = runs
  const asked = { repository: name, run }
  const first = await post(here.url, { ...asked, question: 'How is the token refreshed?' })
  await post(here.url, { ...asked, question: 'Which colour is it?' })
  const page = await call(here.url, at(`/${run}/answers`, '&limit=1'))
  const rest = await call(here.url, at(`/${run}/answers`, `&limit=5&cursor=${page.body.next}`))
  const listed = [...page.body.answers, ...rest.body.answers]
  expect(listed.map(({ question }) => question).sort()).toEqual(['How is the token refreshed?', 'Which colour is it?'])
  for (const field of ['code', 'blocks']) expect(listed[0], 'a list stays short').not.toHaveProperty(field)

  const one = await call(here.url, at(`/${run}/answers/${first.body.id}`))
  expect(one.body).toMatchObject({ id: first.body.id, status: 'done', reused: true, blocks: first.body.blocks })
  for (const { label } of first.body.citations)
    expect(JSON.stringify(first.body.blocks)).toContain(JSON.stringify({ kind: 'citation', label }))

  const [citation] = first.body.citations
  const place = `&path=${encodeURIComponent(citation.path)}&from=${citation.from}&to=${citation.to}`
  const lines = await call(here.url, at(`/${run}/files`, `${place}&answer=${first.body.id}`))
  expect(lines.status).toBe(200)
  expect(lines.body.path).toBe(citation.path)
  expect(lines.body.lines.join('\n')).toContain(citation.quote ?? 'token')
  expect((await call(here.url, at(`/${run}/files`, '&path=src/never.ts&from=1'))).status).toBe(404)
  expect((await call(here.url, at(`/${run}/files`, '&path=src/token.ts&from=0'))).status).toBe(400)
})

test('lines are found past a record that cannot be read, unless it is the one that was asked for', async () => {
  const asked = { repository: name, run: here.run.run, question: 'How is the token refreshed?' }
  const [citation] = (await post(here.url, asked)).body.citations
  const { drive } = here.stack.clouds
  // First among those of the same second.
  const broken = ['1', '2'].map((digit) => digit.padStart(32, '0'))
  const paths = broken.map((id) => `${here.run.directory}/analysis/qa/${id}.json`)
  for (const [index, path] of paths.entries()) drive.write(path, ['{', '{"version":2}'][index]!)
  const lines = at(`/${here.run.run}/files`, `&path=${encodeURIComponent(citation.path)}&from=${citation.from}`)
  const newest = await call(here.url, lines)
  const named = await Promise.all(broken.map((id) => call(here.url, `${lines}&answer=${id}`)))
  for (const path of paths) drive.remove(path)
  expect([newest.status, newest.body.path]).toEqual([200, citation.path])
  expect(named.map(({ body }) => body.code)).toEqual(['corrupt', 'unknown-version'])
})

test.each(['/x', `/${'a'.repeat(40)}-1/nothing`, `/${'a'.repeat(40)}-1/answers/zz`, '/%ff', '/a/b/c/d'])(
  '%s is no address',
  async (path) => {
    expect([400, 404]).toContain((await call(here.url, at(path))).status)
  },
)

test('an answer that is looked up later says whether it is still true at the newest run of its branch', async () => {
  const { body } = await post(here.url, {
    repository: name,
    run: here.run.run,
    question: 'How is the token refreshed?',
  })
  const again = await call(here.url, body.self)
  expect(again.body.stale).toMatchObject({ head: runs[0]!.slice(0, 40), valid: true, precision: 'files' })
  expect(again.body.stale.told).toMatch(/still valid/)
  expect(again.body.stale.citations[0]).toMatchObject({ label: expect.stringContaining(':'), verdict: 'same' })
  const { drive } = here.stack.clouds
  const takeBack = drive.rule({ path: /\/refs\//, fault: { kind: 'answer', status: 403, body: '{"error":"no"}' } })
  const withoutStaleness = await call(here.url, body.self)
  takeBack()
  expect(drive.requests.filter(({ path, status }) => status === 403 && path.includes('/refs/')).length).toBeGreaterThan(
    0,
  )
  expect({ status: withoutStaleness.status, id: withoutStaleness.body.id, stale: withoutStaleness.body.stale }).toEqual(
    { status: 200, id: body.id },
  )
})

test('what changed between two runs: both are read, the answer names both commits, and stands in the answer store', async () => {
  const asked = {
    repository: name,
    ref: 'main',
    compareWith: { run: here.run.run },
    question: 'What changed in src/later.ts?',
  }
  const before = here.machines()
  const { status, body } = await post(here.url, asked)
  expect(status).toBe(200)
  expect(body).toMatchObject({ run: runs[0], compareWith: { run: here.run.run }, reused: false })
  expect(here.machines() - before).toBe(2)
  expect((await post(here.url, asked)).body).toMatchObject({ id: body.id, reused: true })
  expect(here.machines() - before).toBe(2)
  const same = await post(here.url, { ...asked, compareWith: { ref: 'main' } })
  expect({ status: same.status, code: same.body.code }).toEqual({ status: 400, code: 'invalid-input' })
  // A service with one sandbox at a time takes the comparison for one.
  const small = await here.another({ HANDOFF_SANDBOXES: '1' })
  expect((await post(small.url, { ...asked, question: 'What else changed?' })).status).toBe(200)
})

test('a branch whose head has no run yet is answered from the one before, and the answer says so', async () => {
  const head = await here.repository.commit({ 'src/token.ts': '// Gone.\n' })
  const { body } = await post(here.url, { repository: name, ref: 'main', question: 'Which colour is it?' })
  expect(body).toMatchObject({ run: runs[0], behind: { head } })
})

test('a failed answer says why', async () => {
  const takeBack = here.stack.clouds.model.setBehaviour({ kind: 'broken', status: 500 })
  await post(here.url, { repository: name, run: here.run.run, question: 'What fails here?' })
  takeBack()
  const { body } = await call(here.url, at(`/${here.run.run}/answers`))
  const failed = body.answers.find((one: { status: string }) => one.status === 'failed')
  expect(failed).toMatchObject({ question: 'What fails here?', error: { code: 'model' } })
})
