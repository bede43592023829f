/** Vite puts imported style sheets next to the script that imports them. */
declare module '*.css';
