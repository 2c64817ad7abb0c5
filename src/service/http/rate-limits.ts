// What a caller may ask, in the header fields RateLimit-Policy and RateLimit of the IETF's draft. Only the budgets of a day have a rest to tell.
import type { Asked } from '../ask/question.js'
import type { RequestContext } from './http-function.js'

const daySeconds = 86_400
const cents = (dollars: number) => Math.floor(dollars * 100)

export function tellLimits(exchange: RequestContext, { app, caller, base }: Asked): void {
  const { perCaller, tokensPerDay, costPerDay } = app.settings.limits
  const policies = [
    `"questions";q=${perCaller};qu="concurrent-requests"`,
    ...(tokensPerDay === undefined ? [] : [`"tokens";q=${Math.floor(tokensPerDay)};qu="tokens";w=${daySeconds}`]),
    ...(costPerDay === undefined ? [] : [`"cost";q=${cents(costPerDay)};qu="us-cents";w=${daySeconds}`]),
  ]
  exchange.replyWith(() => {
    const left = base.budgets.left(caller.name)
    const rests = left && [
      ...(left.tokens === undefined ? [] : [`"tokens";r=${Math.floor(left.tokens)};t=${left.seconds}`]),
      ...(left.cost === undefined ? [] : [`"cost";r=${cents(left.cost)};t=${left.seconds}`]),
    ]
    return { 'ratelimit-policy': policies.join(', '), ...(rests ? { ratelimit: rests.join(', ') } : {}) }
  })
}
