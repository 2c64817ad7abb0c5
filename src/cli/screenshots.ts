// `npm run screenshots`: the pictures of the README, from the real page and from a comment that the real service wrote. Everything runs on this
// machine: the functions from their sources, the emulators of E2B, drive9 and GitHub, and a model stand-in whose reply stands in screenshot-scene.ts.
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, constants, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { type Browser, chromium, type Locator } from 'playwright-core'
import { startGitRemote } from '../emulators/git-http-server.js'
import { type LocalGitHub, startGitHub } from '../emulators/github/server.js'
import { startClouds } from '../emulators/start-all.js'
import { startFunctions } from '../emulators/vercel/start.js'
import { createContext, HandoffError, parseRepository, parseSettings, summarise } from '../handoff/index.js'
import { runCommand } from './command-line.js'
import { programText, repositoryRoot } from './sandbox-program.js'
import { answerReply, files, question, repositoryName, summaryReply } from './screenshot-scene.js'

const execute = promisify(execFile)
const folder = join(repositoryRoot, 'docs/images')
const token = 'token-of-the-picture'
const secret = 'secret-of-the-picture'
const pullNumber = 42

const command = {
  name: 'screenshots',
  description: `Makes docs/images/page.png and docs/images/comment.png. Needs Chromium (named in CHROMIUM where it is not
/usr/bin/chromium) and cmark-gfm (Debian: apt-get install chromium cmark-gfm).`,
  options: {},
  example: 'screenshots',
  cost: 'nothing; no account is used.',
} as const

async function takePictures(signal: AbortSignal): Promise<void> {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  await requirePrograms(executablePath)
  await using resources = new AsyncDisposableStack()
  const directory = resources.adopt(await makeRepository(), (path) => rm(path, { recursive: true }))
  const github = resources.use(await startGitHub())
  const known = github.addRepository({ name: repositoryName, directory, collaborators: { wanda: 'write' } })
  const remote = resources.use(await startGitRemote({ repositories: { [repositoryName]: directory } }))
  const clouds = resources.use(await startClouds())
  clouds.model!.setBehaviour({ kind: 'say', text: summaryReply }, { task: 'summary' })
  clouds.model!.setBehaviour({ kind: 'say', text: answerReply }, { task: 'answer' })

  const { stdout } = await execute('git', ['-C', directory, 'rev-parse', 'HEAD'])
  const sha = stdout.trim()
  const repository = { ...parseRepository(repositoryName, new URL(remote.url).host), id: String(known.id) }
  const cloneUrl = remote.cloneUrl(repositoryName)
  const context = createContext(parseSettings(clouds.settings), { program: programText, emit: () => {} })
  const commit = { repository, sha, cloneUrl, ref: 'refs/heads/main' }
  const { run } = await summarise({ commit, attempt: 'picture' }, context, signal)

  const service = resources.use(
    await startFunctions({
      root: repositoryRoot,
      fromSources: true,
      environment: {
        ...clouds.settings,
        GITHUB_SERVER_URL: remote.url,
        GITHUB_API_URL: github.apiUrl,
        HANDOFF_BEARERS: `you=${createHash('sha256').update(token).digest('hex')}=*`,
        HANDOFF_GITHUB_TOKEN: github.issueToken({
          permissions: { contents: 'read', issues: 'write', pull_requests: 'write' },
        }),
        HANDOFF_WEBHOOK_SECRETS: secret,
      },
    }),
  )
  const browser = resources.adopt(await chromium.launch({ executablePath, args: ['--no-sandbox'] }), (one) =>
    one.close(),
  )
  await mkdir(folder, { recursive: true })
  await takePage(browser, `${service.url}/?repository=${encodeURIComponent(repositoryName)}&run=${run}`)
  github.addPull(known, { number: pullNumber, author: 'wanda', head: { ref: 'fresh', sha } })
  await takeComment(browser, await commentOf(github, known, `${service.url}/api/github`))
  process.stdout.write('docs/images/page.png and docs/images/comment.png are written.\n')
}

/** Both are of the machine, so they are tried before anything is started. */
async function requirePrograms(executablePath: string): Promise<void> {
  const refused = (message: string, next: string) => () => {
    throw new HandoffError('missing-setting', message, { next })
  }
  await access(executablePath, constants.X_OK).catch(
    refused(`There is no browser at ${executablePath}.`, 'Set CHROMIUM to the path of a Chromium.'),
  )
  await execute('cmark-gfm', ['--version']).catch(
    refused('The program cmark-gfm is not there, which renders the comment.', 'Install the package cmark-gfm.'),
  )
}

async function makeRepository(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'picture-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, dirname(path)), { recursive: true })
    await writeFile(join(directory, path), text)
  }
  const author = ['-c', 'user.name=Wanda', '-c', 'user.email=wanda@example.org', '-c', 'commit.gpgsign=false']
  await execute('git', ['-C', directory, 'init', '--quiet', '--initial-branch=main'])
  await execute('git', ['-C', directory, 'add', '--all'])
  await execute('git', ['-C', directory, ...author, 'commit', '--quiet', '--message', 'tools: keep tokens fresh'])
  return directory
}

async function takePage(browser: Browser, address: string): Promise<void> {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 680 },
    colorScheme: 'light',
  })
  await page.goto(address)
  await page.getByLabel('Access token').fill(token)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByLabel('Your question').fill(question)
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  const answer = page.locator('#answers > article').last()
  await answer
    .getByRole('button', { name: /^Source / })
    .first()
    .waitFor()
  await page.locator('#code .t-keyword').first().waitFor()
  await page.screenshot({ path: join(folder, 'page.png'), animations: 'disabled' })
  await page.close()
}

async function commentOf(
  github: LocalGitHub,
  known: ReturnType<LocalGitHub['addRepository']>,
  webhook: string,
): Promise<string> {
  const asked = github.addComment(known, pullNumber, 'wanda', `/ask ${question}`)
  await github.deliver(webhook, github.eventOf(asked), { secret })
  for (let tries = 0; tries < 200; tries++) {
    const answer = github.visibleComments(known, pullNumber).find(({ body }) => body.includes('state=done'))
    if (answer) return answer.body
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new HandoffError('timeout', 'The service wrote no answer on the pull request within 20 s.')
}

async function takeComment(browser: Browser, markdown: string): Promise<void> {
  const html = await rendered(markdown)
  const page = await browser.newPage({
    viewport: { width: 860, height: 900 },
    deviceScaleFactor: 1.2,
    colorScheme: 'light',
  })
  await page.setContent(
    `<style>${commentStyle}</style><main>${comment('wanda', `<p>/ask ${question}</p>`)}${comment('handoff <b>bot</b>', html)}</main>`,
  )
  await picture(page.locator('main'), 'comment.png')
  await page.close()
}

const comment = (author: string, html: string) =>
  `<article><header><strong>${author}</strong> commented</header><div class="body">${html}</div></article>`

/** As GitHub renders a comment. The markup in it is the product's own; what came from elsewhere is escaped in it. */
async function rendered(markdown: string): Promise<string> {
  const program = spawn('cmark-gfm', ['--unsafe', '-e', 'table', '-e', 'strikethrough', '-e', 'autolink'])
  program.stdin.end(markdown)
  return text(program.stdout)
}

const picture = (element: Locator, name: string) =>
  element.screenshot({ path: join(folder, name), animations: 'disabled' })

const commentStyle = `
  body { margin: 0; background: #fff; color: #1f2328; font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif }
  main { padding: 16px; display: grid; gap: 16px; width: 780px }
  article { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden }
  header { padding: 8px 16px; background: #f6f8fa; border-bottom: 1px solid #d1d9e0; color: #59636e }
  header strong { color: #1f2328 }
  header b { font-size: 11px; font-weight: 500; border: 1px solid #d1d9e0; border-radius: 2em; padding: 0 6px; margin-left: 2px; color: #59636e }
  .body { padding: 16px } .body > :first-child { margin-top: 0 } .body > :last-child { margin-bottom: 0 }
  a { color: #0969da } code { font: 85% ui-monospace, "DejaVu Sans Mono", monospace; background: #eff1f3; padding: .2em .4em; border-radius: 6px }
  blockquote { margin: 0 0 16px; padding: 0 1em; color: #59636e; border-left: .25em solid #d1d9e0 }
  summary { cursor: pointer } table { border-collapse: collapse } td, th { border: 1px solid #d1d9e0; padding: 6px 13px }
  sub { font-size: 75%; color: #59636e } hr { height: 1px; background: #d1d9e0; border: 0 }
`

await runCommand(command, ({ untilInterrupted }) => takePictures(untilInterrupted()))
