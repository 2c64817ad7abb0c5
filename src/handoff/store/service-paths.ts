// Where the instances of a service keep what they share: beside the repositories, in a directory that no git host can be named like.

export const serviceDirectory = (root: string) => `${root.replace(/\/+$/, '')}/_service`

export const budgetsDirectory = (root: string) => `${serviceDirectory(root)}/budgets`

/** What a caller spent today. */
export const budgetPath = (root: string, callerHash: string) => `${budgetsDirectory(root)}/${callerHash}.json`
