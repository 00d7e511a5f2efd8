/** What a span carries: ids and counts. Never a credential, an address or a reference of a reseller. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | null | undefined>
>

/** Adds attributes to the span, such as the outcome. */
type Annotate = (attributes: Attributes) => void

interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

export interface Tracer {
  span<T>(
    name: string,
    attributes: Attributes,
    work: (annotate: Annotate) => Promise<T>,
  ): Promise<T>
  /** The ids of the span that the caller is in. Undefined outside of a sampled span. */
  current(): TraceIds | undefined
}

let tracer: Tracer | undefined

/** Makes the spans of this process be recorded. Undefined: no longer. */
export function setTracer(given: Tracer | undefined): void {
  tracer = given
}

/**
 * Runs the work in a span. Without a tracer, which is the default, it only runs the work.
 * @example span('sync', { 'farewatch.list': list }, async (annotate) => …)
 */
export function span<T>(
  name: string,
  attributes: Attributes,
  work: (annotate: Annotate) => Promise<T>,
): Promise<T> {
  return tracer === undefined ? work(() => undefined) : tracer.span(name, attributes, work)
}

export function currentTrace(): TraceIds | undefined {
  return tracer?.current()
}
