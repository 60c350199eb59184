/** Bundled beside the script. */
declare module '*.css';
