// Where names are defined, by the outline that the survey left in the run directory.
import type { Outline } from '../../../domain/survey.js'

export interface DefinitionSite {
  path: string
  line: number
  /** The last line, if the language shows it. */
  end?: number
}

/** Returns where the names are defined. */
export type FindDefinitions = (names: ReadonlySet<string>) => Promise<Map<string, DefinitionSite[]>>

/** Looks in an outline that is in memory. */
export function definitionsIn({ files }: Outline): FindDefinitions {
  return async (names) => {
    const found = new Map<string, DefinitionSite[]>()
    for (const [path, definitions] of Object.entries(files)) {
      for (const { name, line, end } of definitions) {
        if (!names.has(name)) continue
        const site = { path, line, ...(end === undefined ? {} : { end }) }
        const sites = found.get(name)
        if (sites) sites.push(site)
        else found.set(name, [site])
      }
    }
    return found
  }
}
