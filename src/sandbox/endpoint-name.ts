export const ENDPOINT_NAMES = ['routes', 'with-availability', 'csv', 'verify', 'booking'] as const

/** The endpoints of the interface, as the log and the fault rules name them. */
export type EndpointName = (typeof ENDPOINT_NAMES)[number]
