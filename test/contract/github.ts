// What every GitHub must do, ours on loopback and the real one: bound in test/handoff/clients/github/client.test.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GitHub, Thread } from '../../src/handoff/domain/github.js'

export interface GitHubFixture extends AsyncDisposable {
  github: GitHub
  /** `owner/name`, and an open pull request there. */
  repository: string
  pull: number
  /** Its default branch exists, and is not empty. */
  branch: string
  /** The first comment of a review thread on the pull request. */
  reviewRoot: number
}

export function gitHubContract(name: string, makeWorld: () => Promise<GitHubFixture>): void {
  describe(`GitHub as ${name}`, () => {
    let stack: GitHubFixture
    const call = { signal: AbortSignal.timeout(120_000) }
    const fresh = () => `<!-- handoff:contract ${Math.random().toString(36).slice(2)} -->`

    beforeAll(async () => {
      stack = await makeWorld()
    })
    afterAll(async () => {
      await stack[Symbol.asyncDispose]()
    })

    test('knows the repository, its branches and its pull requests', async () => {
      const { github, repository, branch, pull } = stack
      const facts = await github.repository(repository, call)
      expect(facts).toMatchObject({ fullName: expect.stringMatching(new RegExp(`^${repository}$`, 'i')) })
      expect(facts.defaultBranch).toBe(branch)
      const head = await github.branchHead(repository, branch, call)
      expect(head).toMatch(/^[0-9a-f]{40}$/)
      expect(await github.branchHead(repository, 'no/such/branch-here', call)).toBeNull()
      const shown = await github.pull(repository, pull, call)
      expect(shown).toMatchObject({ number: pull, base: { repository: { id: facts.id } } })
      await expect(github.pull(repository, 99_999_999, call)).rejects.toMatchObject({ code: 'not-found' })
    })

    test('compares commits, and says when it does not know one', async () => {
      const { github, repository, branch, pull } = stack
      const base = (await github.branchHead(repository, branch, call))!
      const { head } = await github.pull(repository, pull, call)
      expect(await github.compare(repository, base, base, call)).toMatchObject({ status: 'identical', files: [] })
      const compared = await github.compare(repository, base, head.sha, call)
      expect(compared!.files.length).toBeGreaterThan(0)
      expect(compared!.complete).toBe(true)
      expect(await github.compare(repository, base, 'f'.repeat(40), call)).toBeNull()
    })

    test('returns the permission of an account, and none for an unknown account', async () => {
      const { github, repository } = stack
      const owner = repository.split('/')[0]!
      const known = await github.permissionOf(repository, owner, call)
      expect(known.user?.login.toLowerCase() ?? owner.toLowerCase()).toBe(owner.toLowerCase())
      const unknown = await github.permissionOf(repository, 'no-such-person-here-0123456789abcdefghi', call)
      expect(unknown).toEqual({ level: 'none', roleName: 'none', user: null })
    })

    for (const kind of ['issue', 'review'] as const) {
      const thread = (): Thread =>
        kind === 'issue'
          ? { kind, repository: stack.repository, number: stack.pull }
          : { kind, repository: stack.repository, number: stack.pull, root: stack.reviewRoot }

      test(`keeps a comment of kind ${kind} until it is deleted`, async () => {
        const { github, repository } = stack
        const marker = fresh()
        const me = await github.identity(repository, call)
        const made = await github.createComment(thread(), `${marker}\nfirst`, call)
        expect(made).toMatchObject({ kind, body: `${marker}\nfirst`, author: { id: me.id, login: me.login } })
        expect(made.root).toBe(kind === 'review' ? stack.reviewRoot : undefined)
        expect(await github.getComment(made, call)).toMatchObject({ id: made.id, body: made.body })
        expect(await github.updateComment(made, `${marker}\nsecond`, call)).toMatchObject({ body: `${marker}\nsecond` })
        const own = await github.ownComments(thread(), { marker, since: made.createdAt }, call)
        expect(own.map(({ id, body }) => [id, body])).toEqual([[made.id, `${marker}\nsecond`]])
        expect(await github.deleteComment(made, call)).toBe(true)
        expect(await github.deleteComment(made, call)).toBe(false)
        expect(await github.getComment(made, call)).toBeNull()
        expect(await github.updateComment(made, 'third', call)).toBeNull()
        expect(await github.addReaction(made, 'eyes', call)).toBe(false)
        await github.removeReactions(made, ['eyes'], call)
      })

      test(`makes one comment of kind ${kind} for a marker, however many ask at once`, async () => {
        const { github } = stack
        const marker = fresh()
        const wanted = { marker, body: `${marker}\nhere` }
        const all = await Promise.all([1, 2, 3].map(() => github.ensureComment(thread(), wanted, call)))
        const later = await github.ensureComment(thread(), wanted, call)
        const standing = await github.ownComments(thread(), { marker }, call)
        expect(standing.map(({ id }) => id)).toEqual([later.comment.id])
        expect(later.created).toBe(false)
        expect(all.filter(({ created }) => created).map(({ comment }) => comment.id)).toContain(later.comment.id)
        await github.deleteComment(later.comment, call)
      })

      test(`reacts to a comment of kind ${kind} once, and takes that back`, async () => {
        const { github } = stack
        const made = await github.createComment(thread(), `${fresh()}\nreact`, call)
        expect(await github.addReaction(made, 'eyes', call)).toBe(true)
        expect(await github.addReaction(made, 'eyes', call)).toBe(true)
        await github.removeReactions(made, ['eyes', 'rocket'], call)
        await github.removeReactions(made, ['eyes', 'rocket'], call)
        expect(await github.addReaction(made, 'rocket', call)).toBe(true)
        await github.deleteComment(made, call)
      })
    }

    test('refuses a comment that is too long, and names that do not lead where they seem to', async () => {
      const { github, repository, pull } = stack
      const thread: Thread = { kind: 'issue', repository, number: pull }
      const long = github.createComment(thread, 'x'.repeat(65_537), call)
      await expect(long).rejects.toMatchObject({ code: 'invalid-input', message: expect.stringContaining('too long') })
      for (const name of ['octo', 'octo/..', '../user', 'octo/a/b', 'octo/a?b', 'octo/%2e%2e']) {
        await expect(github.repository(name, call), name).rejects.toMatchObject({ code: 'invalid-input' })
      }
      await expect(github.pull(repository, 1.5, call)).rejects.toMatchObject({ code: 'invalid-input' })
      expect(await github.branchHead(repository, '../../../user', call)).toBeNull()
      expect(await github.permissionOf(repository, '../../x', call)).toMatchObject({ level: 'none' })
    })
  })
}
