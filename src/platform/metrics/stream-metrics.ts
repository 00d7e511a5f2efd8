import { STREAM_ENDS, STREAMS } from '../base/kinds.ts'
import type { Declare } from './declare.ts'

/** The event streams of the API in this process. */
export function streamMetrics({ counter, gauge }: Declare) {
  return {
    streamOpen: gauge('farewatch_stream_open', 'Event streams that are open in this process.', [
      'stream',
    ]),
    streamEvents: counter(
      'farewatch_stream_events_total',
      'Events that were sent on event streams, without heartbeats.',
      { stream: STREAMS },
    ),
    streamEnded: counter(
      'farewatch_stream_ended_total',
      'Event streams that ended: the client left (client) or read too slowly (slow), its key is no longer valid (refused), the process stopped (shutdown), or the feed could not be followed (failed).',
      { stream: STREAMS, reason: STREAM_ENDS },
    ),
  }
}
