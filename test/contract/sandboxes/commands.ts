// Commands: what they print, how they end, how they are left and killed.
import { CommandExitError, type CommandStartOpts } from 'e2b'
import { expect, test } from 'vitest'
import { until } from '../../support/until.js'
import { rejection, type SandboxFixture } from './fixture.js'

export function commandContract(fixture: SandboxFixture): void {
  const run = (command: string, options: CommandStartOpts = {}) =>
    fixture.shared.commands.run(command, { ...options, background: false })
  const start = (command: string, options: CommandStartOpts = {}) =>
    fixture.shared.commands.run(command, { ...options, background: true })
  const isAlive = async (id: number | string) =>
    (await run(`kill -0 ${id} 2>/dev/null && echo yes || true`)).stdout === 'yes\n'

  test('output and errors arrive apart and whole', async () => {
    const pieces: string[] = []
    const result = await run('echo one; echo two >&2; printf %s three', {
      onStdout: (text: string) => void pieces.push(`out ${text}`),
      onStderr: (text: string) => void pieces.push(`err ${text}`),
    })
    expect(result).toMatchObject({ exitCode: 0, stdout: 'one\nthree', stderr: 'two\n' })
    expect(pieces.filter((piece) => piece.startsWith('err'))).toEqual(['err two\n'])
  })

  test('output arrives while the command still runs', async () => {
    const seen: string[] = []
    const handle = await start('echo ready; until [ -e fed ]; do sleep 0.02; done; echo done', {
      onStdout: (text: string) => void seen.push(text),
    })
    await until('the first line is here', () => seen.join('') === 'ready\n')
    await run('touch fed')
    expect((await handle.wait()).stdout).toBe('ready\ndone\n')
  })

  test('megabytes and letters cut in two arrive whole', async () => {
    const big = await run('head -c 1500000 /dev/zero | tr "\\0" x')
    expect(big.stdout.length).toBe(1_500_000)
    expect(new Set(big.stdout).size).toBe(1)
    const torn = await run("printf '\\303'; sleep 0.1; printf '\\251'")
    expect(torn.stdout).toBe('é')
    const binary = await run("printf 'a\\377b'")
    expect(binary.stdout).toBe('a\uFFFDb')
  })

  test('environment, working directory and shell are as asked', async () => {
    const words = 'it\'s "quoted" $HOME\nand long'
    const result = await run('printf "%s|%s" "$WORDS" "$0"', { envs: { WORDS: words } })
    expect(result.stdout).toBe(`${words}|/bin/bash`)
    await run('mkdir -p "a place"')
    for (const cwd of ['a place', '/home/user/a place', '~/a place'])
      expect((await run('pwd', { cwd })).stdout, cwd).toMatch(/\/home\/user\/a place\n$/)
    const home = await run('test "$PWD" = "$HOME" && shopt -q login_shell && echo "at home"')
    expect(home.stdout).toBe('at home\n')
  })

  test('root has a home of its own', async () => {
    const [user, root] = await Promise.all([run('echo $HOME $USER'), run('echo $HOME $USER', { user: 'root' })])
    expect(user.stdout).toMatch(/\/home\/user user\n$/)
    expect(root.stdout).toMatch(/\/root root\n$/)
  })

  test('a code other than 0 is an error that carries the output', async () => {
    const error = await rejection(run('echo said; echo wrong >&2; exit 3'))
    expect(error).toBeInstanceOf(CommandExitError)
    expect(error).toMatchObject({ exitCode: 3, stdout: 'said\n', stderr: 'wrong\n', error: 'exit status 3' })
  })

  test('a signal is minus one', async () => {
    const error = await rejection(run('kill -9 $$'))
    expect(error).toMatchObject({ exitCode: -1, error: 'signal: killed' })
  })

  test('what cannot be started is refused', async () => {
    expect((await rejection(run('true', { cwd: '/no/such/place' }))).name).toBe('InvalidArgumentError')
    expect((await rejection(run('true', { user: 'no-such-user' }))).name).toBe('AuthenticationError')
    expect((await rejection(run(`: ${'x'.repeat(140_000)}`))).name).toBe('InvalidArgumentError')
  })

  test('a command ends when every process that holds its output has closed it', async () => {
    const held = await run('(sleep 0.3; echo late) & echo early')
    expect(held.stdout).toBe('early\nlate\n')
    const left = await run('setsid nohup sleep 600 >/dev/null 2>&1 </dev/null & echo $!')
    expect(await isAlive(left.stdout.trim())).toBe(true)
    await run(`kill -9 ${left.stdout.trim()}`)
  })

  test('time up ends the command and only the command', async () => {
    const error = await rejection(
      run('echo $$; sh -c "echo \\$\\$ >child.pid; exec sleep 600"; true', { timeoutMs: 700 }),
    )
    expect(error.name).toBe('TimeoutError')
    expect(error.message).toMatch(/^\[deadline_exceeded\]/)
    const child = (await run('cat child.pid')).stdout.trim()
    expect(await isAlive(child)).toBe(true)
    await run(`kill -9 ${child}`)
  })

  test('a command is killed once, and not found afterwards', async () => {
    const handle = await start('sleep 600', { timeoutMs: 0 })
    const ended = rejection(handle.wait())
    expect(await handle.kill()).toBe(true)
    expect(await ended).toMatchObject({ exitCode: -1, error: 'signal: killed' })
    expect(await fixture.shared.commands.kill(handle.pid)).toBe(false)
  })

  test('an aborted call stops listening and ends nothing', async () => {
    const stop = new AbortController()
    const handle = await start('sleep 600', { timeoutMs: 0, signal: stop.signal })
    const waiting = rejection(handle.wait())
    stop.abort()
    const error = await waiting
    expect(error.name).toBe('TimeoutError')
    expect(error.message).toMatch(/^\[canceled\]/)
    expect(await isAlive(handle.pid)).toBe(true)
    await fixture.shared.commands.kill(handle.pid)
  })

  test('many commands at once keep their output apart', async () => {
    const numbers = Array.from({ length: 20 }, (_, index) => index)
    const results = await Promise.all(numbers.map((number) => run(`echo ${number}`)))
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((number) => `${number}\n`))
  })
}
