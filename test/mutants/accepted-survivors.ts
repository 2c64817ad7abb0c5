// Changes of guards that no test notices, each with its reason: the change means nothing, or costs time only. `npm run mutants` fails for a survivor
// that is not listed here, and for an entry whose change a test notices.
import type { AcceptedSurvivors } from './report.js'

export const acceptedSurvivors: AcceptedSurvivors = {
  'handoff/clients/github/verify-oidc.ts': [
    {
      code: "if (token.length > 16_384 || !/^[\\w-]+\\.[\\w-]+\\.[\\w-]+$/.test(token)) throw refusal('it is not a JWT')",
      change: 'token.length > 16_384 → token.length >= 16_384',
      why: 'A token of GitHub is far from this limit; one character decides nothing.',
    },
    {
      code: 'if (!known || now >= fetchedAt + maximumAgeInOutageMs) throw error',
      change: 'now >= fetchedAt + maximumAgeInOutageMs → now > fetchedAt + maximumAgeInOutageMs',
      why: 'One millisecond of twelve hours.',
    },
  ],
  'handoff/domain/answers/permalinks.ts': [
    {
      code: "return style === 'none' ? undefined : serverOf(place).replace(/^https?:\\/\\//, '')",
      change: '/^https?:\\/\\// → /https?:\\/\\//',
      why: 'The address is a parsed one, which begins so.',
    },
  ],
  'handoff/domain/answers/answer-data.ts': [
    {
      code: '...(record.thread !== undefined && /^[0-9a-f]{32}$/.test(record.thread) ? { after: record.thread } : {}),',
      change:
        'record.thread !== undefined && /^[0-9a-f]{32}$/.test(record.thread) → (/^[0-9a-f]{32}$/.test(record.thread))',
      why: 'No thread is no text of this form.',
    },
    {
      code: 'safeMarkdown(record.text, { labels, ...(host === undefined ? {} : { host }) }),',
      change: 'host === undefined → false',
      why: 'What is absent is written as nothing, asked or not.',
    },
  ],
  'handoff/domain/citations/parse-citations.ts': [
    {
      code: "const path = quoted ? fromJson(quoted) : code || bare || samePath || ''",
      change: "code || bare || samePath || '' → (code || bare || samePath)",
      why: 'A place without a path stands behind one that has a path.',
    },
    {
      code: 'const inside = range < code.length && code[range]!.from <= at',
      change: 'code[range]!.from <= at → code[range]!.from < at',
      why: 'No code begins with a bracket.',
    },
  ],
  'handoff/domain/citations/shown-files.ts': [
    {
      code: 'if (places.length >= most) break',
      change: 'places.length >= most → false',
      why: 'A bound of work alone: two places are as many as a hundred, and fifty places within a range begin where the range begins.',
    },
    {
      code: 'if (places.length >= most) break',
      change: 'places.length >= most → places.length > most',
      why: 'One place more of a bound of work.',
    },
  ],
  'handoff/domain/citations/verify-citations.ts': [
    {
      code: 'if (!/^\\[\\[["`]?[\\w.@~/-]/.test(text.slice(at)) || citationEnd(text, at) !== undefined) return text',
      change: '/^\\[\\[["`]?[\\w.@~/-]/ → /\\[\\[["`]?[\\w.@~/-]/',
      why: 'The part begins with the last two brackets of the text, or has none.',
    },
    {
      code: 'const by = quote.from < range.from ? quote.from - range.from : Math.max(0, quote.to - range.to)',
      change: 'quote.from < range.from → quote.from <= range.from',
      why: 'A quote that begins where the range begins and ends later fits into no range of that length.',
    },
  ],
  'handoff/domain/git-proof.ts': [
    {
      code: 'trees.set(id, known)',
      change: 'trees.set(id, known) → undefined',
      why: 'Costs time only: the tree is hashed again.',
    },
    {
      code: "const root = /^tree ([0-9a-f]{40})\\n/.exec(objects.get(`commit ${commit}`)?.toString('latin1', 0, 46) ?? '')?.[1]",
      change: '/^tree ([0-9a-f]{40})\\n/ → /tree ([0-9a-f]{40})\\n/',
      why: 'A commit object begins with its tree; its hash is proved before.',
    },
    {
      code: 'lines.set(id, known)',
      change: 'lines.set(id, known) → undefined',
      why: 'Costs time only: the file is hashed again.',
    },
    {
      code: 'for (let at = 0; at < bytes.length; ) {',
      change: 'at < bytes.length → at <= bytes.length',
      why: 'Behind the last byte no entry is found, and the loop ends there.',
    },
    {
      code: 'if (end < 0 || end + 21 > bytes.length) break',
      change: 'end < 0 → end <= 0',
      why: 'An entry has a mode before its end, so no end is at 0.',
    },
  ],
  'handoff/domain/markdown/allowed-links.ts': [
    {
      code: 'const repositoryFile = /^(\\/[\\w.~-]+(?:\\/[\\w.~-]+){1,9}?)\\/(?:-\\/)?(?:blob|tree|blame|src)\\/[^\\s]+$/',
      change:
        '/^(\\/[\\w.~-]+(?:\\/[\\w.~-]+){1,9}?)\\/(?:-\\/)?(?:blob|tree|blame|src)\\/[^\\s]+$/ → /^(\\/[\\w.~-]+(?:\\/[\\w.~-]+){1,9}?)\\/(?:-\\/)?(?:blob|tree|blame|src)\\/[^\\s]+/',
      why: 'A path of a parsed address has no spaces.',
    },
  ],
  'handoff/domain/markdown/sanitize.ts': [
    {
      code: "if (piece === '') return",
      change: "piece === '' → false",
      why: 'The reader of words leaves out what is empty, and code of spaces alone is a space.',
    },
  ],
  'handoff/domain/secrets/redact-file.ts': [
    {
      code: "if (text.includes('PRIVATE KEY')) apply('private-key', privateKey, isKeyText)",
      change: "text.includes('PRIVATE KEY') → true",
      why: 'Costs time only: a text without these words has no such block.',
    },
    {
      code: 'for (const { rule, anchor, pattern, accept } of valueRules) if (plain.includes(anchor)) apply(rule, pattern, accept)',
      change: 'plain.includes(anchor) → true',
      why: 'Costs time only: each match of the expression has the anchor.',
    },
    {
      code: 'return inWords / body.length < 0.5 && entropy(body) >= (/^[0-9a-f-]+$/i.test(body) ? 2.8 : 3.3)',
      change:
        'entropy(body) >= (/^[0-9a-f-]+$/i.test(body) ? 2.8 : 3.3) → entropy(body) > (/^[0-9a-f-]+$/i.test(body) ? 2.8 : 3.3)',
      why: 'No text has exactly this entropy.',
    },
  ],
  'handoff/domain/secrets/redactor.ts': [
    {
      code: 'const spaced = secrets.flatMap(encodingsOf).filter((form) => /\\s/.test(form))',
      change: 'secrets.flatMap(encodingsOf).filter((form) => /\\s/.test(form)) → secrets.flatMap(encodingsOf)',
      why: 'Costs time only: a key without spaces lies in the last word, which is kept back anyway.',
    },
    {
      code: "return open <= done ? '' : release(open)",
      change: 'open <= done → open < done',
      why: 'Costs time only: nothing is released either way.',
    },
    {
      code: 'finders.set(secrets, finder)',
      change: 'finders.set(secrets, finder) → undefined',
      why: 'Costs time only: the same finder is made again.',
    },
    {
      code: 'while (word > 0 && text.length - word < 2 * longestWord && !isSpace(text.charCodeAt(word - 1))) word--',
      change: 'word > 0 → word >= 0',
      why: 'A place before the text is like its start: nothing is released.',
    },
  ],
  'handoff/sandbox/program/untrusted-file.ts': [
    {
      code: 'await handle.close()',
      change: 'await handle.close() → undefined',
      why: 'The program ends after a refused file, and its handle with it.',
    },
  ],
  'handoff/store/delete-run.ts': [
    {
      code: 'const removed = await drive.remove(file.path, { recursive: false, atRevision: file.revision, signal })',
      change: 'false → true',
      why: 'The path is of a file, below which is nothing.',
    },
    {
      code: 'return removed || (await drive.stat(file.path, signal)) === null ? undefined : changedMeanwhile',
      change:
        'removed || (await drive.stat(file.path, signal)) === null → ((await drive.stat(file.path, signal)) === null)',
      why: 'After a removal the file is gone: one more request shows it.',
    },
    {
      code: 'await drive.remove(place.sealNote(run), { recursive: false, signal })',
      change: 'false → true',
      why: 'The path is of a file, below which is nothing.',
    },
    {
      code: 'const removed = await drive.remove(path, { recursive: false, atRevision: revision, signal })',
      change: 'false → true',
      why: 'The path is of a file, below which is nothing.',
    },
    {
      code: 'return removed || (await drive.stat(path, signal)) === null ? undefined : changedMeanwhile',
      change: 'removed || (await drive.stat(path, signal)) === null → ((await drive.stat(path, signal)) === null)',
      why: 'After a removal the file is gone: one more request shows it.',
    },
    {
      code: 'await drive.remove(place.sealNote(run), { recursive: false, signal })',
      change: 'false → true',
      why: 'The path is of a file, below which is nothing.',
    },
    {
      code: 'await drive.remove(place.sealNote(run), { recursive: false, signal })',
      change: 'false → true',
      why: 'The path is of a file, below which is nothing.',
    },
    {
      code: 'await drive.remove(place.sealNote(run), { recursive: false, signal })',
      change: 'false → true',
      why: 'The path is of a file, below which is nothing.',
    },
  ],
  'handoff/domain/tombstone.ts': [
    {
      code: 'if (value?.removed === undefined) return undefined',
      change: 'value?.removed === undefined → false',
      why: 'Any other file is no tombstone by its shape; this saves the exception.',
    },
  ],
  'handoff/store/publish-run.ts': [
    {
      code: 'if (written !== undefined) return pointer',
      change: 'written !== undefined → false',
      why: 'The pointer that was written is read back, and is the same.',
    },
  ],
  'handoff/store/run-store.ts': [
    {
      code: 'const read = pointer.run === expected ? await early : undefined',
      change: 'pointer.run === expected → true',
      why: 'A handoff that was read for another run has another hash, and is read again.',
    },
  ],
  'service/auth/authenticate.ts': [
    {
      code: "if (header === null && settings.signIn !== undefined && request.headers.has('cookie')) {",
      change:
        "header === null && settings.signIn !== undefined && request.headers.has('cookie') → (header === null && settings.signIn !== undefined)",
      why: 'A request without a session has none, whether one is looked for or not.',
    },
    {
      code: "if (header === null && settings.signIn !== undefined && request.headers.has('cookie')) {",
      change: 'header === null && settings.signIn !== undefined → (header === null)',
      why: 'A request without a session has none, whether one is looked for or not.',
    },
  ],
  'service/auth/person.ts': [
    {
      code: 'if (signIn === undefined || cookie === undefined) return undefined',
      change: 'signIn === undefined || cookie === undefined → (signIn === undefined)',
      why: 'No cookie is no session, whether it is opened or not.',
    },
    {
      code: 'if ((tokens.accessUntil ?? Infinity) <= Date.now()) throw sessionExpired()',
      change: '(tokens.accessUntil ?? Infinity) <= Date.now() → (tokens.accessUntil ?? Infinity) < Date.now()',
      why: 'One millisecond of a token’s hours.',
    },
  ],
  'service/auth/session.ts': [
    {
      code: 'if (error instanceof JOSEError) return undefined',
      change: 'error instanceof JOSEError → true',
      why: 'An error that is no refusal of a cookie is a defect; no request can cause it.',
    },
    {
      code: 'throw error',
      change: 'throw error → ;',
      why: 'An error that is no refusal of a cookie is a defect; no request can cause it.',
    },
  ],
}
