// Changes of guards that no test notices, each with its reason: the change means nothing, or costs time only. `npm run mutants` fails for a survivor
// that is not listed here, and for an entry whose change a test notices.
import type { AcceptedSurvivors } from './report.js'

export const acceptedSurvivors: AcceptedSurvivors = {}
