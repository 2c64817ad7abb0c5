/**
 * Parts of the comment about a pull request that authors may switch off. They stand apart from what renders them: the Action reads its inputs before it
 * knows whether there is work, and would load the renderer with them.
 */
export const changeParts = ['sentences', 'ripples', 'files', 'diagram', 'questions', 'cost'] as const
export type ChangePart = (typeof changeParts)[number]
