// Where names are defined, by the outline that the survey left in the run directory.
import type { Outline } from '../../../domain/survey.js'

export interface DefinitionSite {
  path: string
  line: number
}

/** Returns where the names are defined. */
export type FindDefinitions = (names: ReadonlySet<string>) => Map<string, DefinitionSite[]>

export function definitionsIn(outline: Outline): FindDefinitions {
  return (names) => {
    const found = new Map<string, DefinitionSite[]>()
    for (const [path, definitions] of Object.entries(outline.files)) {
      for (const { name, line } of definitions) {
        if (!names.has(name)) continue
        const sites = found.get(name)
        if (sites) sites.push({ path, line })
        else found.set(name, [{ path, line }])
      }
    }
    return found
  }
}
