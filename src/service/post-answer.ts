// Posts an answer as a comment on a pull request. A marker in the comment keeps a repeated post from creating a second one.
import * as product from '../handoff/index.js'
import type { App } from './app.js'
import { placeOf } from './http/responses.js'

export async function postOnPull(
  app: App,
  { redact, ports }: product.AppContext,
  { record, run, reused, corrections = [] }: product.AnswerResult,
  pull: number,
  signal: AbortSignal,
): Promise<{ url: string }> {
  const github = await app.github()
  const { repository } = run.handoff
  const place = placeOf(app.settings.github, run.handoff)
  const onNotice = (text: string) => ports.emit({ type: 'notice', text })
  const commenting = { github, redact, place, signal, repository, about: { pull }, onNotice }
  const parts = await product.commentParts(commenting, { record, reused, corrections })
  const urls: string[] = []
  for (const [index, part] of parts.entries()) {
    const marker = product.writeAnswerMarker({ id: record.id, part: index + 1, run: record.run })
    urls.push(await ensureOnce(github, { kind: 'issue', repository, number: pull }, marker, part, signal))
  }
  return { url: urls[0] ?? '' }
}

/** Creates or updates the comment with this marker. Returns its address. */
async function ensureOnce(
  github: product.GitHub,
  thread: product.Thread,
  marker: string,
  text: string,
  signal: AbortSignal,
): Promise<string> {
  const body = `${marker}\n${text}`
  const { comment } = await github.ensureComment(thread, { marker, body }, { signal })
  const { kind, repository, id } = comment
  if (comment.body !== body) await github.updateComment({ kind, repository, id }, body, { signal })
  return comment.url
}
