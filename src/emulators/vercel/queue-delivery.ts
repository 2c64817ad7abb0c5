// The delivery of one message to the function that consumes it.
import { freshId } from '../faulty-server.js'
import type { Consumer } from './queue-consumers.js'

export interface QueueEntry {
  id: string
  consumer: Consumer
  body: Buffer
  contentType: string
  createdAt: number
  expiresAt: number
  visibleAt: number
  deliveryCount: number
  /** Of the newest delivery; older ones are refused. */
  receipt?: string
  acknowledged: boolean
}

export const region = 'iad1'

/** Distinguishes a delivery from other requests. */
export const deliveryHeader = 'x-local-queue-delivery'

interface DeliveryOptions {
  deliveryKey: string
  /** Sends the message itself. Without it the consumer receives the message by its id. */
  inline: boolean
  aheadMs: number
}

/** Returns the status of the response. */
export async function push(url: string, entry: QueueEntry, options: DeliveryOptions): Promise<number> {
  const { id, consumer, contentType, body } = entry
  const { deliveryKey, inline, aheadMs } = options
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      [deliveryHeader]: deliveryKey,
      'ce-specversion': '1.0',
      'ce-type': 'com.vercel.queue.v2beta',
      'ce-source': `/topic/${consumer.topic}/consumer/${consumer.name}`,
      'ce-id': freshId(),
      'ce-vqsqueuename': consumer.topic,
      'ce-vqsconsumergroup': consumer.name,
      'ce-vqsmessageid': id,
      'ce-vqsregion': region,
      ...(inline ? { ...inlineHeaders(entry, aheadMs), 'content-type': contentType } : {}),
    },
    ...(inline ? { body: new Uint8Array(body) } : {}),
  })
  await response.arrayBuffer()
  return response.status
}

const inlineHeaders = (entry: QueueEntry, aheadMs: number) => ({
  'ce-vqsreceipthandle': entry.receipt!,
  'ce-vqsdeliverycount': String(entry.deliveryCount),
  'ce-vqscreatedat': clientTime(entry.createdAt, aheadMs),
  'ce-vqsexpiresat': clientTime(entry.expiresAt, aheadMs),
  'ce-vqsvisibilitydeadline': clientTime(entry.visibleAt, aheadMs),
})

/** The clock of the clients is not ahead. */
export const clientTime = (time: number, aheadMs: number): string => new Date(time - aheadMs).toISOString()
