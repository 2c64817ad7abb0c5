// Checks whether an account may ask, by GitHub's permission API. The association in an event says MEMBER also for people who may only read.

import {
  type AskLevel,
  type Author,
  type Call,
  type GitHub,
  type PermissionLevel,
  permissionLevels,
} from '../../domain/github.js'

export type PermissionCheck =
  | { allowed: true; level: PermissionLevel }
  /** `text` is a sentence for the log or the asker. Bots get no answer, because two bots could answer each other for ever. */
  | { allowed: false; reason: 'bot' | 'permission' | 'other-account'; text: string }

export async function checkPermission(
  request: { github: GitHub; repository: string; user: Author; allow: AskLevel },
  call: Call,
): Promise<PermissionCheck> {
  const { github, repository, user, allow } = request
  if (isBot(user)) return { allowed: false, reason: 'bot', text: `${user.login} is a bot; bots are not answered.` }
  const { level, roleName, user: known } = await github.permissionOf(repository, user.login, call)
  if (known !== null && known.id !== user.id) {
    const text = `${user.login} is no longer the account that wrote the comment.`
    return { allowed: false, reason: 'other-account', text }
  }
  if (permissionLevels.indexOf(level) >= permissionLevels.indexOf(allow)) return { allowed: true, level }
  const has = level === 'none' ? 'no permission' : `the permission ${roleName}`
  const text = `${user.login} has ${has} in ${repository}; this takes ${allow}.`
  return { allowed: false, reason: 'permission', text }
}

/** Checks type and login, because GitHub promises neither for every bot. */
export function isBot(user: Author): boolean {
  return user.type !== 'User' || user.login.toLowerCase().endsWith('[bot]')
}
