// Carries out `/correct …` where it was written. It needs the drive9 key and write permission of the author; no sandbox and no model.
import { checkPermission, correctComment } from '../handoff/index.js'
import { refuseComment } from './answer-comment.js'
import { openGitHub } from './github-client.js'
import { type Job, jobRepository, linkPlace, openCorrectContext } from './job-context.js'
import type { WrittenCorrection } from './route-event.js'

export async function writeCorrection(job: Job, { event, command }: WrittenCorrection): Promise<void> {
  const { runner, context, redact, signal } = job
  const { target, asker: author } = event
  const correcting = openCorrectContext(job)
  const github = openGitHub(job)
  const asked = { github, repository: context.repository, user: author, allow: 'write' } as const
  const may = await checkPermission(asked, { signal })
  if (!may.allowed) return refuseComment(job, github, target, may)
  const result = await correctComment(
    {
      github,
      context: correcting,
      repository: jobRepository(job),
      target,
      author,
      command,
      place: linkPlace(job),
      redact,
    },
    signal,
  )
  if ('refused' in result) return runner.notice(`The correction was not taken. ${redact(result.refused.message)}`)
  runner.info(
    result.done === 'removed'
      ? `Corrections removed: ${result.places}.`
      : `The correction of ${author.login} is kept; it rests on ${result.places} cited places.`,
  )
}
