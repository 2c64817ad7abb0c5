// Where a repository was kept before names were stored in lower case.

import type { Drive } from '../domain/ports.js'
import type { Repository } from '../domain/run.js'
import { fullName, hostFolder } from '../domain/run.js'
import { mapConcurrent } from '../util/map-concurrent.js'

/** Lists at once, where several owners are spelled alike. */
const width = 4

/** The repository as its other folders spell it; the one in lower case is not among them. */
export async function olderSpellings(
  drive: Drive,
  root: string,
  repository: Repository,
  signal: AbortSignal,
): Promise<Repository[]> {
  const lower = fullName(repository).toLowerCase()
  let found = ['']
  for (const part of lower.split('/')) {
    const below = await mapConcurrent(width, found, async (path) => {
      const entries = await drive.list(`${hostFolder(root, repository.host)}${path}`, signal)
      const alike = entries.filter(({ isDirectory, name }) => isDirectory && name.toLowerCase() === part)
      return alike.map(({ name }) => `${path}/${name}`)
    })
    found = below.flat()
  }
  return found
    .filter((path) => path !== `/${lower}`)
    .map((path) => {
      const slash = path.lastIndexOf('/')
      return { ...repository, owner: path.slice(1, slash), name: path.slice(slash + 1) }
    })
}
