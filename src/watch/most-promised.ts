/** The part of a queue's checks that longest delays may take: the floor of the other tickets takes a fifth. */
export const MOST_PROMISED = 0.7
