// Arrays for the kernels: views of numbers in other arrays, and tables with their own numbers.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

namespace @{namespace}
{

using Index = std::int64_t;

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NOTHING = std::numeric_limits<double>::quiet_NaN();

inline double square(double x) { return x * x; }
inline double sign(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }

/// The remainder of a division that rounds down, as in Python.
inline Index remainder(Index a, Index b) { return ((a % b) + b) % b; }

/// The number of entries of an array.
template <typename Array>
Index length(const Array & array)
{
  return static_cast<Index>(std::size(array));
}

/// A view of n numbers, of any array that has them.
template <typename T>
class Vector
{
public:
  template <typename Array>
  Vector(Array && from) : data_(std::data(from)), size_(static_cast<Index>(std::size(from))) {}
  Vector(T * data, Index size) : data_(data), size_(size) {}

  T & operator[](Index k) const { return data_[k]; }
  T * data() const { return data_; }
  Index size() const { return size_; }
  T * begin() const { return data_; }
  T * end() const { return data_ + size_; }

private:
  T * data_;
  Index size_;
};

/// A table of numbers, row by row.
template <Index ROWS, Index COLUMNS>
class Table
{
public:
  Table() = default;

  /// Copy vectors to its rows.
  template <typename... Rows>
  explicit Table(const Rows &... rows)
  {
    static_assert(sizeof...(rows) == ROWS);
    std::size_t i = 0;
    ((set(i++, rows)), ...);
  }

  double & operator()(Index i, Index k) { return numbers_[place(i, k)]; }
  double operator()(Index i, Index k) const { return numbers_[place(i, k)]; }
  double * data() { return numbers_.data(); }
  const double * data() const { return numbers_.data(); }
  void fill(Index i, double value) { std::fill_n(numbers_.data() + i * COLUMNS, COLUMNS, value); }
  Vector<double> row(Index i) { return {numbers_.data() + i * COLUMNS, COLUMNS}; }
  Vector<const double> row(Index i) const { return {numbers_.data() + i * COLUMNS, COLUMNS}; }
  static constexpr Index rows() { return ROWS; }
  static constexpr Index columns() { return COLUMNS; }

private:
  template <typename Row>
  void set(std::size_t i, const Row & row)
  {
    const double * from = std::data(row);
    for (std::size_t k = 0; k < COLUMNS; ++k) {  // inlined, unlike std::copy
      numbers_[i * COLUMNS + k] = from[k];
    }
  }

  static constexpr std::size_t place(Index i, Index k)
  {
    return static_cast<std::size_t>(i * COLUMNS + k);
  }

  std::array<double, static_cast<std::size_t>(ROWS * COLUMNS)> numbers_{};
};

/// A view of a table.
template <typename T>
class Matrix
{
public:
  template <typename Numbers>
  Matrix(Numbers && from) : data_(from.data()), rows_(from.rows()), columns_(from.columns()) {}

  T & operator()(Index i, Index k) const { return data_[i * columns_ + k]; }
  T * data() const { return data_; }
  Index rows() const { return rows_; }
  Index columns() const { return columns_; }
  Vector<T> row(Index i) const { return {data_ + i * columns_, columns_}; }

private:
  T * data_;
  Index rows_, columns_;
};

}  // namespace @{namespace}
