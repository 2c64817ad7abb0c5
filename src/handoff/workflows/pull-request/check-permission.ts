// Who may ask. The answer comes from GitHub's permission API: the association that an event carries says MEMBER of people who may only read.

import { startsWithMarker } from '../../domain/answers/comment-marker.js'
import type { Author, Call, GitHub, PermissionLevel } from '../../domain/github.js'
import { permissionLevels } from '../../domain/github.js'

export type AskLevel = Exclude<PermissionLevel, 'none'>

export type MayAsk =
  | { allowed: true; level: PermissionLevel }
  /** `text` is a sentence for the log or for the one who asked; a bot is never answered, two of them would talk for ever. */
  | { allowed: false; reason: 'bot' | 'permission' | 'somebody-else'; text: string }

export async function mayAsk(
  request: { github: GitHub; repository: string; user: Author; allow: AskLevel },
  call: Call,
): Promise<MayAsk> {
  const { github, repository, user, allow } = request
  if (isBot(user)) return { allowed: false, reason: 'bot', text: `${user.login} is a bot; bots are not answered.` }
  const { level, roleName, user: known } = await github.permissionOf(repository, user.login, call)
  if (known !== null && known.id !== user.id) {
    const text = `${user.login} is not the account any more that wrote the question.`
    return { allowed: false, reason: 'somebody-else', text }
  }
  if (permissionLevels.indexOf(level) >= permissionLevels.indexOf(allow)) return { allowed: true, level }
  const has = level === 'none' ? 'no permission' : `the permission ${roleName}`
  const text = `${user.login} has ${has} in ${repository}; asking takes ${allow}.`
  return { allowed: false, reason: 'permission', text }
}

/** By type and by name: an App's bot has both, and neither alone is promised. */
export function isBot(user: Author): boolean {
  return user.type !== 'User' || user.login.toLowerCase().endsWith('[bot]')
}

/** Our own word: it has our marker and we wrote it. Somebody may paste a marker, and we may be a person's token that also asks. */
export function isOwnWord(comment: { body: string; author: Author }, identity: Author): boolean {
  return comment.author.id === identity.id && startsWithMarker(comment.body)
}
