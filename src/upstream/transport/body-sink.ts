import { createGunzip } from 'node:zlib'

/** zlib's default of 16 KB makes ten thousand round trips to its thread out of a large list. */
const GUNZIP = { chunkSize: 262_144 }

/** How a body travels. We ask for gzip or nothing; anything else cannot be read. */
export type Coding = 'identity' | 'gzip' | 'unknown'

/** Decodes a body as it arrives. */
export interface BodySink {
  /** False: write no more until `onDrain`. */
  write(chunk: Uint8Array): boolean
  /** The body is all there; `onEnd` follows when it is decoded. */
  end(): void
  /** Nothing more is wanted, and nothing more is told. */
  destroy(): void
}

export interface SinkEvents {
  /** The chunk is only valid during the call. */
  onData(chunk: Uint8Array): void
  onDrain(): void
  onEnd(): void
  /** The body is not what its coding says. */
  onError(error: Error): void
}

export function createBodySink(coding: 'identity' | 'gzip', events: SinkEvents): BodySink {
  return coding === 'gzip' ? gunzipTo(events) : passTo(events)
}

function passTo({ onData, onEnd }: SinkEvents): BodySink {
  return {
    write: (chunk) => {
      onData(chunk)
      return true
    },
    end: onEnd,
    destroy: () => undefined,
  }
}

function gunzipTo({ onData, onDrain, onEnd, onError }: SinkEvents): BodySink {
  const gunzip = createGunzip(GUNZIP)
  gunzip.on('data', onData).on('drain', onDrain).on('end', onEnd).on('error', onError)
  return {
    write: (chunk) => gunzip.write(chunk),
    end: () => void gunzip.end(),
    destroy: () => {
      gunzip.removeAllListeners('data').removeAllListeners('end')
      gunzip.destroy()
    },
  }
}

export function codingOf(contentEncoding = 'identity'): Coding {
  const name = contentEncoding.trim().toLowerCase()
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  return name === 'identity' || name === '' ? 'identity' : 'unknown'
}
